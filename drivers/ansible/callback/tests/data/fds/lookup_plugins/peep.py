# SPDX-License-Identifier: GPL-3.0-or-later
import ctypes
import os

from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        links = [f"dumpable={ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)}"]
        for name in os.listdir("/proc/self/fd"):
            try:
                links.append(os.readlink("/proc/self/fd/" + name))
            except OSError:
                continue
        return ["\n".join(links + [key + "=" + value for key, value in os.environ.items()])]
