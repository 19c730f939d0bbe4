# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback plugin that tells the driver the facts of a run, one private frame a line.

FRAMES.md fixes the frames. No text of a result, no argument and no rendered name ever leaves
here: only names as written in the source, host names, numbers and closed codes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, NamedTuple, ParamSpec

from ansible.playbook.task_include import TaskInclude
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__ as ansible_version
from ansible.utils.vars import transform_to_native_types

_HERE: Final = os.path.dirname(os.path.realpath(__file__))


def _load(name: str) -> Any:
    # By file and not by name: `-I` leaves our folder off sys.path, and nothing may shadow it.
    spec = importlib.util.spec_from_file_location(name, os.path.join(_HERE, f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    import aim_frames
    import aim_hints
    import aim_source
else:
    aim_frames = _load("aim_frames")
    aim_hints = _load("aim_hints")
    aim_source = _load("aim_source")

MAX_COUNT: Final = 2**31 - 1
DATA_PART: Final = 8_192
_SOURCE: Final = re.compile(r"aim_\w+\.py")
_FREE: Final = frozenset(("free", "host_pinned"))
_ROW: Final = ("ok", "changed", "failures", "unreachable", "skipped", "rescued", "ignored")


def source_digest() -> str:
    """sha256 over the bytes of all Python sources beside this one, sorted by name."""
    digest = hashlib.sha256()
    for name in sorted(filter(_SOURCE.fullmatch, os.listdir(_HERE))):
        with open(os.path.join(_HERE, name), "rb") as source:
            digest.update(source.read())
    return digest.hexdigest()


class Occurrence(NamedTuple):
    """One announced start of a task in one play occurrence."""

    task: int
    play: int
    uuid: str
    hidden: bool
    ran: set[str]  # hosts that have started it; kept only where hosts run ahead of each other


P = ParamSpec("P")


def guarded(
    method: Callable[Concatenate[CallbackModule, P], None],
) -> Callable[Concatenate[CallbackModule, P], None]:
    """Ansible turns an exception of a callback into a warning and runs on, unseen: never raise."""

    @wraps(method)
    def call(self: CallbackModule, /, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.frames is None:
            return
        try:
            method(self, *args, **kwargs)
        except Exception:
            self.frames.fail()

    return call


class CallbackModule(CallbackBase):  # type: ignore[misc]  # Ansible has no type stubs
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "aim_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(
        self,
        frames: aim_frames.FrameWriter | None = None,
        nonce: str = "",
        result_key: str | None = None,
    ) -> None:
        super().__init__()
        self.result_key, self.result_max = result_key, aim_frames.MAX_LINE
        if frames is None:
            number = os.environ.pop("AIM_FRAMES_FD", "")
            nonce = os.environ.pop("AIM_FRAMES_NONCE", "")
            self.result_key = os.environ.pop("AIM_RESULT_KEY", "") or None
            frames = aim_frames.FrameWriter(int(number)) if number.isdecimal() else None
        self.frames = frames
        self.disabled = frames is None
        self._play: Any = None
        self._play_id = 0
        self._task_id = 0
        self._free = False
        self._reasons: set[str] = set()
        self._open: dict[str, Occurrence] = {}
        self._active: dict[str, Occurrence] = {}
        self._last_meta: str | None = None
        self._hello(nonce)

    @guarded
    def _hello(self, nonce: str) -> None:
        self._emit(
            "hello", schema=1, nonce=nonce, ansible=ansible_version, callback=source_digest()
        )

    def _emit(self, kind: str, **fields: Any) -> None:
        if self.frames is not None:
            self.frames.frame(kind, **fields)

    def _announce(self, task: Any, handler: bool) -> Occurrence:
        hidden = aim_source.is_hidden(task, self._play)
        self._task_id += 1
        found = Occurrence(self._task_id, self._play_id, str(task._uuid), hidden, set())
        self._open[found.uuid] = found
        self._emit(
            "task",
            task=found.task,
            play=found.play,
            name=aim_source.name_of(task, hidden),
            hidden=hidden,
            handler=handler,
            at=aim_source.place_of(task),
        )
        return found

    def _task_start(self, task: Any, handler: bool) -> None:
        uuid = str(task._uuid)
        meta = task._get_meta()
        # Linear starts a meta task once a host, free starts every task once a host.
        repeated = self._free or (meta is not None and self._last_meta == uuid)
        self._last_meta = uuid if meta is not None else None
        if not (repeated and uuid in self._open):
            self._announce(task, handler)

    @guarded
    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._play = play
        self._play_id += 1
        strategy = str(play.strategy).rpartition(".")[2]
        self._free = strategy in _FREE
        self._last_meta = None
        self._reasons, self._open, self._active = set(), {}, {}
        hidden = aim_source.play_hidden(play)
        self._emit("play", play=self._play_id, name=aim_source.name_of(play, hidden), hidden=hidden)

    @guarded
    def v2_playbook_on_no_hosts_matched(self) -> None:
        self._no_hosts("no_hosts_matched")

    @guarded
    def v2_playbook_on_no_hosts_remaining(self) -> None:
        self._no_hosts("no_hosts_remaining")

    def _no_hosts(self, reason: str) -> None:
        if reason not in self._reasons:
            self._reasons.add(reason)
            self._emit("no_hosts", play=self._play_id, reason=reason)

    @guarded
    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._task_start(task, handler=False)

    @guarded
    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self._task_start(task, handler=True)

    @guarded
    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        name, handler = str(host.name), type(task).__name__.startswith("Handler")
        found = self._open.get(str(task._uuid))
        if found is None or (self._free and name in found.ran):
            found = self._announce(task, handler)
        if self._free:
            found.ran.add(name)
        self._active[name] = found

    def _result(self, result: Any, status: str, ignored: bool = False) -> None:
        task, name = result.task, str(result.host.name)
        meta = task._get_meta() is not None
        found = self._active.pop(name, None)
        if found is None or found.uuid != str(task._uuid):
            found = self._open.get(str(task._uuid))
        if found is None:
            if meta:  # a meta task that never started has nothing to tell
                return
            found = self._announce(task, type(task).__name__.startswith("Handler"))
        data = result._return_data  # `result.result` would copy the whole result
        hidden = found.hidden or not aim_source.left_open(task)
        hidden = hidden or bool(data.get("_ansible_no_log")) or "censored" in data
        hint, cause = None, None
        if status in ("failed", "unreachable"):
            hint = "details_withheld"
            if not hidden:
                hint, cause = aim_hints.classify(status, data)
        counted = "meta" if meta and status == "skipped" else "yes"
        if isinstance(task, TaskInclude) and status == "ok":
            counted = "include"
        changed = bool(result.is_changed())
        self._emit(
            "result",
            play=found.play,
            task=found.task,
            host=aim_source.host_text(name),
            status="changed" if status == "ok" and changed else status,
            changed=changed,
            ignored=ignored,
            hidden=hidden,
            counted=counted,
            hint=hint,
            cause=cause,
        )

    @guarded
    def v2_runner_on_ok(self, result: Any) -> None:
        self._result(result, "ok")

    @guarded
    def v2_runner_on_failed(self, result: Any, ignore_errors: Any = False) -> None:
        self._result(result, "failed", bool(ignore_errors))

    @guarded
    def v2_runner_on_skipped(self, result: Any) -> None:
        self._result(result, "skipped")

    @guarded
    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._result(result, "unreachable", bool(result.task.ignore_unreachable))

    @guarded
    def v2_runner_retry(self, result: Any) -> None:
        self._step("retry", result)

    @guarded
    def v2_runner_on_async_poll(self, result: Any) -> None:
        self._step("poll", result)

    def _step(self, kind: str, result: Any) -> None:
        # By host: the task of a poll is a stand-in whose id can equal that of another task.
        name = str(result.host.name)
        found = self._active.get(name)
        if found is None:
            return
        fields: dict[str, Any] = {
            "play": found.play,
            "task": found.task,
            "host": aim_source.host_text(name),
        }
        hidden = found.hidden
        if kind == "retry":
            attempt = result._return_data.get("attempts")
            known = isinstance(attempt, int) and 0 <= attempt <= MAX_COUNT
            fields["attempt"] = int(attempt) if known else None
            hidden = hidden or not aim_source.left_open(result.task)
        self._emit(kind, **fields, hidden=hidden)

    @guarded
    def v2_playbook_on_include(self, included_file: Any) -> None:
        hosts: list[str] = []
        size = 0
        for host in included_file._hosts:
            text = aim_source.host_text(str(host.name))
            cost = len(json.dumps(text, ensure_ascii=False).encode()) + 1
            if hosts and size + cost > aim_frames.MAX_LINE // 2:
                self._emit("include", hosts=hosts)
                hosts, size = [], 0
            hosts.append(text)
            size += cost
        if hosts:
            self._emit("include", hosts=hosts)

    @guarded
    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._data(stats)
        rows = sorted(stats.processed)
        for name in rows:
            row = stats.summarize(name)
            self._emit(
                "recap", host=aim_source.host_text(name), **{key: int(row[key]) for key in _ROW}
            )
        self._emit("stats", hosts=len(rows))
        if self.frames is not None:
            self._emit("end", frames=self.frames.next_number)
            self.frames.close()

    def _data(self, stats: Any) -> None:
        shared = stats.custom.get("_run")
        if self.result_key is None or not shared or self.result_key not in shared:
            return
        text = self._data_text(shared[self.result_key])
        parts = [text[at : at + DATA_PART] for at in range(0, len(text), DATA_PART)] or [""]
        for part, piece in enumerate(parts, 1):
            self._emit("data", part=part, parts=len(parts), text=piece)

    def _data_text(self, value: object) -> str:
        """JSON text, or nothing for a value that is too large or is not JSON."""
        try:
            text = json.dumps(
                transform_to_native_types(value),
                ensure_ascii=False,
                allow_nan=False,
                separators=(",", ":"),
            )
            return text if len(text.encode("utf-8")) <= self.result_max else ""
        except Exception:  # any value that Ansible or JSON cannot turn into text
            return ""
