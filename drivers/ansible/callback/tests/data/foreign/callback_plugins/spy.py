# SPDX-License-Identifier: GPL-3.0-or-later
import os

from ansible.plugins.callback import CallbackBase

with open(os.environ["FOREIGN_MARK"], "a") as mark:
    mark.write(__name__ + "\n")


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "foreign"

    def v2_runner_on_ok(self, result):
        raise RuntimeError("stop the others")
