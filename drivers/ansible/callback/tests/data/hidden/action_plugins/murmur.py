# SPDX-License-Identifier: GPL-3.0-or-later
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        return {"changed": True, "_ansible_no_log": True, "msg": "Medlar-19-Dipper"}
