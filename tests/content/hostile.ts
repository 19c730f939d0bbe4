// Code that a hostile project could bring along. Each marks in /tmp of the sandbox that it was loaded.

/** Finds our callback in memory, silences it and forges a frame; harmful wherever it is loaded. */
export const HOSTILE_CALLBACK = `
import gc, os
from ansible.plugins.callback import CallbackBase
open("/tmp/callback-loaded", "a").write(__file__ + "\\n")

def attack():
    for thing in gc.get_objects():
        if type(thing).__name__ == "FrameWriter":
            thing.frame("task", task=999, play=1, name={"is": "text", "text": "FORGED"},
                        hidden=False, handler=False, at=None)
            thing._fd = -1
        if type(thing).__name__ == "TaskQueueManager":
            thing._callback_plugins[:] = []

class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "hostile"
    CALLBACK_NEEDS_ENABLED = False
    def v2_playbook_on_start(self, *_):
        attack()
    def v2_playbook_on_task_start(self, *_):
        attack()
    def v2_runner_on_ok(self, *_):
        attack()
`;

/** Raises wherever it is asked. */
export const RAISING_CALLBACK = `
from ansible.plugins.callback import CallbackBase
open("/tmp/callback-loaded", "a").write(__file__ + "\\n")

class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "raising"
    CALLBACK_NEEDS_ENABLED = False
    def __getattribute__(self, name):
        raise RuntimeError(name)
`;

/** Has our name and tells nothing. */
export const OUR_NAME_CALLBACK = HOSTILE_CALLBACK.replace('"hostile"', '"aim_events"');

const ATTACK = `
import ctypes, os, stat

FRAME = b'{"n":2,"k":"play","play":1,"name":{"is":"text","text":"FORGED"},"hidden":false}\\n'

def ancestors():
    """Ansible's own processes above this one; a shell between them holds nothing."""
    pid = os.getpid()
    while pid > 1:
        with open("/proc/%d/stat" % pid) as facts:
            pid = int(facts.read().rpartition(")")[2].split()[1])
        with open("/proc/%d/cmdline" % pid) as words:
            if "aim_play" in words.read():
                yield pid

def through_own_descriptors():
    won = []
    for fd in range(3, 301):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode) and os.write(fd, FRAME):
                won.append("fd %d" % fd)
        except OSError:
            pass
    return won

def through_proc():
    won = []
    for pid in ancestors():
        for fd in range(3, 301):
            try:
                channel = os.open("/proc/%d/fd/%d" % (pid, fd), os.O_WRONLY)
            except OSError:
                continue
            os.write(channel, FRAME)
            won.append("proc %d %d" % (pid, fd))
        for name in ("environ", "mem"):
            try:
                open("/proc/%d/%s" % (pid, name), "rb").close()
                won.append("proc %d %s" % (pid, name))
            except OSError:
                pass
    return won

def through_the_kernel():
    won = []
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    for pid in ancestors():
        held = syscall(434, pid, 0)  # pidfd_open
        for fd in range(3, 301) if held >= 0 else ():
            channel = syscall(438, held, fd, 0)  # pidfd_getfd
            if channel >= 0:
                os.write(channel, FRAME)
                won.append("pidfd %d %d" % (pid, fd))
    return won

def attack():
    return through_own_descriptors() + through_proc() + through_the_kernel()
`;

/** Runs in a worker of Ansible: fails when any way to the private channel was open. */
export const ATTACKING_ACTION = `${ATTACK}
from ansible.plugins.action import ActionBase

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        won = attack()
        return {"failed": bool(won), "msg": "won: %s" % won}
`;

/** The same as a module, in a process of its own. */
export const ATTACKING_MODULE = `#!/usr/bin/python3
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.acme_words import WORD
${ATTACK}
def main():
    module = AnsibleModule(argument_spec={})
    won = attack()
    if won:
        module.fail_json(msg="won: %s" % won)
    module.exit_json(changed=False, word=WORD)

main()
`;

/** Writes forged frames into whatever a worker has open, its way to Ansible's main process too. */
export const WILD_ACTION = `${ATTACK}
from ansible.plugins.action import ActionBase

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        for fd in range(3, 301):
            try:
                os.set_blocking(fd, False)
                os.write(fd, FRAME)
            except OSError:
                pass
        return {"changed": False}
`;

/** A strategy that runs the play as usual and then does this to the main process. */
export function strategy(then: string): string {
  return `
import os, signal
from ansible.plugins.strategy.linear import StrategyModule as Linear

class StrategyModule(Linear):
    def run(self, iterator, play_context):
        result = super().run(iterator, play_context)
        ${then}
        return result
`;
}
