# SPDX-License-Identifier: GPL-3.0-or-later
"""The private descriptor and the canonical frame lines that are written to it."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import threading
import time
from typing import Any, Final

MAX_LINE: Final = 65_536
MAX_FRAMES: Final = 262_144  # above the driver's own limit; bounds every table of the callback
MIN_FD: Final = 64


def stop_run() -> None:
    """End this process: a run that nobody can see must not go on."""
    os.kill(os.getpid(), signal.SIGTERM)
    # As the first process of a namespace the default SIGTERM is not delivered.
    time.sleep(2)
    os._exit(143)


class FrameWriter:
    """Owns the descriptor. After the first fault nothing more is written, and the run ends."""

    def __init__(self, fd: int) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._count = 0
        self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, MIN_FD)
        os.close(fd)
        os.register_at_fork(after_in_child=self._drop)

    def _drop(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def fail(self) -> None:
        if os.getpid() == self._pid:
            self._drop()
            stop_run()

    def close(self) -> None:
        if os.getpid() == self._pid:
            self._drop()

    @property
    def next_number(self) -> int:
        return self._count + 1

    def frame(self, kind: str, **fields: Any) -> None:
        if self._fd < 0 or os.getpid() != self._pid:
            return
        with self._lock:
            if self._count >= MAX_FRAMES:
                raise OverflowError("too many frames")
            text = json.dumps(
                {"n": self._count + 1, "k": kind, **fields},
                ensure_ascii=False,
                allow_nan=False,
                separators=(",", ":"),
            )
            line = text.encode("utf-8") + b"\n"
            if len(line) > MAX_LINE:
                raise OverflowError("frame too long")
            self._write(line)
            self._count += 1

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._fd, select.POLLOUT)
                poll.poll()
