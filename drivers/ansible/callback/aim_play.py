# SPDX-License-Identifier: GPL-3.0-or-later
"""Launcher: ansible-playbook with our callback, and no other, in this very process.

    python -I aim_play.py --frames-fd N --config-fd M -- <ansible-playbook arguments>

`prewarm()` does all that needs nothing of a job; `run()` does one job and ends the process.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

_HERE: Final = os.path.dirname(os.path.realpath(__file__))
_PR_SET_DUMPABLE: Final = 4
_MAX_CONFIG: Final = 65_536
_USAGE_EXIT: Final = 5  # what ansible-playbook ends with for options that it refuses
# A run makes long-lived objects nearly only while it loads; the default of 700 walks them in vain.
_GC_THRESHOLD: Final = (50_000, 20, 50)


class Config(NamedTuple):
    nonce: str
    result_key: str | None
    result_max: int
    frames_fd: int


class UsageError(Exception):
    """The launcher was started in a way that its contract does not allow."""


def make_undumpable() -> None:
    """Keep other processes of this user out of our memory, descriptors and environment."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def read_json(fd: int) -> dict[str, Any]:
    """The one JSON object of a descriptor, which is closed whatever happens."""
    with os.fdopen(fd, "rb") as source:
        data = source.read(_MAX_CONFIG + 1)
    if len(data) > _MAX_CONFIG:
        raise UsageError("config is too large")
    value = json.loads(data)
    if not isinstance(value, dict):
        raise UsageError("config is not an object")
    return value


def parse_config(value: dict[str, Any], frames_fd: int) -> Config:
    if set(value) != {"nonce", "result_key", "result_max"}:
        raise UsageError("config has wrong keys")
    nonce, key, limit = value["nonce"], value["result_key"], value["result_max"]
    if not isinstance(nonce, str) or not (key is None or isinstance(key, str)):
        raise UsageError("config has a wrong type")
    if len(nonce) > 256:
        raise UsageError("config has a long nonce")
    if type(limit) is not int or not 0 <= limit <= 65_536:
        raise UsageError("config has a wrong limit")
    return Config(nonce, key, limit, frames_fd)


def prewarm() -> None:
    """Import everything a run needs; no job data is looked at."""
    gc.disable()
    import ansible.cli.playbook
    import ansible.executor.task_queue_manager  # noqa: F401

    # By file and not by name: `-I` leaves our folder off sys.path, and nothing may shadow it.
    spec = importlib.util.spec_from_file_location(
        "aim_events", os.path.join(_HERE, "aim_events.py")
    )
    if spec is None or spec.loader is None:
        raise ImportError("aim_events")
    module = importlib.util.module_from_spec(spec)
    sys.modules["aim_events"] = module
    spec.loader.exec_module(module)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLD)
    gc.enable()


def _install(callback: Any) -> None:
    """Make the callback the only one: Ansible's own search for plugins is never run."""
    from ansible.executor.task_queue_manager import TaskQueueManager

    callback._init_callback_methods()

    def load_callbacks(self: Any) -> None:
        if not self._callback_plugins:
            self._callback_plugins.append(callback)

    TaskQueueManager.load_callbacks = load_callbacks


def run(config: Config, arguments: Sequence[str]) -> NoReturn:
    from ansible.cli.playbook import PlaybookCLI

    events = sys.modules["aim_events"]
    writer = sys.modules["aim_frames"].FrameWriter(config.frames_fd)
    callback = events.CallbackModule(writer, config.nonce, config.result_key)
    callback.result_max = config.result_max
    _install(callback)

    class OnePlaybook(PlaybookCLI):  # type: ignore[misc]  # Ansible has no type stubs
        def post_process_args(self, options: Any) -> Any:
            # Ansible adds the counts of several playbooks up: one process is one recap.
            if len(options.args) != 1:
                self.parser.error("exactly one playbook is allowed")
            return super().post_process_args(options)

    argv = ["ansible-playbook", *arguments]
    sys.argv = list(argv)
    OnePlaybook.cli_executor(argv)
    raise SystemExit(0)


def _split(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    if "--" not in argv:
        raise UsageError("no -- before the arguments of ansible-playbook")
    at = list(argv).index("--")
    parser = argparse.ArgumentParser(prog="aim_play", allow_abbrev=False)
    parser.add_argument("--frames-fd", type=int, required=True)
    parser.add_argument("--config-fd", type=int, required=True)
    return parser.parse_args(argv[:at]), list(argv[at + 1 :])


def main(argv: Sequence[str]) -> NoReturn:
    make_undumpable()
    try:
        own, arguments = _split(argv)
        # Neither number may be one of the standard three, nor leak into a child while we import.
        if min(own.frames_fd, own.config_fd) < 3 or own.frames_fd == own.config_fd:
            raise UsageError("wrong descriptor")
        for fd in (own.frames_fd, own.config_fd):
            os.set_inheritable(fd, False)
        config = parse_config(read_json(own.config_fd), own.frames_fd)
    except (UsageError, OSError, ValueError) as fault:
        print(f"aim_play: {type(fault).__name__}", file=sys.stderr)
        raise SystemExit(_USAGE_EXIT) from None
    prewarm()
    run(config, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
