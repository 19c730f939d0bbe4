# SPDX-License-Identifier: Apache-2.0
"""The first process of one sandbox (pid 1 of its pid namespace).

Reads messages from the runner on descriptor 3, prepares the tool's private
inputs, starts the tool once, and ends everything when the tool ends, when the
runner goes away, or when the lease runs out. When this process exits, the
kernel kills whatever is left in the namespace.

Message, both directions: two big-endian 32-bit lengths (JSON, then private
bytes), the JSON object, the private bytes. Private bytes are never in the JSON
so that they stay in buffers which can be overwritten.
"""

from __future__ import annotations

import _thread
import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from typing import Any, NoReturn

# Isolated mode leaves our own folder out.
sys.path.append("/run/aim")

from aim_inputs import AGENT_SOCKET, Inputs, StartError, now, spawn, wipe, write_all

CONTROL, FRAMES, TOOL_OUT, TOOL_ERR = 3, 4, 5, 6
HEADER = struct.Struct("!II")
LARGEST_JSON = 4 << 20
LARGEST_PRIVATE = 64 << 20
PR_SET_DUMPABLE = 4


def send(message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    try:
        write_all(CONTROL, memoryview(HEADER.pack(len(body), 0) + body))
    except OSError:
        os._exit(1)  # no runner, no reason to be here


class Lease:
    """The lease's clock: past it, everything dies at once."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._watching = False

    def extend(self, milliseconds: float) -> None:
        self._until = now() + milliseconds / 1000
        if not self._watching:
            self._watching = True
            # Its own thread: a start that hangs must not outlive the lease.
            _thread.start_new_thread(self._watch, ())

    def _watch(self) -> None:
        while True:
            left = (self._until or 0.0) - now()
            if left <= 0:
                end("lease", None)
            # Short naps, because sleep does not count time in suspend.
            time.sleep(min(left, 0.25))


def end(reason: str, status: int | None) -> NoReturn:
    """Kill every other process, tell the runner, and take the namespace along."""
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass  # already alone
    code: int | None = None
    name: str | None = None
    if status is not None:
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
        else:
            code = os.WEXITSTATUS(status)
    send({"type": "exit", "code": code, "signal": name, "reason": reason})
    os._exit(0)


class Sandbox:
    def __init__(self) -> None:
        self.lease = Lease()
        self.inputs = Inputs()
        self.leader: int | None = None
        self.reason = "exited"
        self.stop_signal = signal.SIGTERM
        self.grace = 5.0
        self.stop_at: float | None = None
        self.kill_at: float | None = None
        self.started = False

    def prepare(self, message: dict[str, Any]) -> None:
        for kind, value in message["limits"].items():
            limit = getattr(resource, kind)
            resource.setrlimit(limit, (int(value), int(value)))
        send({"type": "ready"})

    def start(self, message: dict[str, Any], private: bytearray) -> None:
        if self.started:
            raise StartError("started_twice")
        self.started = True
        at = 0
        for item in message["inputs"]:
            size = int(item["size"])
            self.inputs.add(item, private[at : at + size])
            at += size
        wipe(private)
        if message["channel"] == "frames":
            self.inputs.fds["frames"] = FRAMES
        environment = {str(k): str(v) for k, v in message["env"].items()}
        if self.inputs.agent is not None:
            environment["SSH_AUTH_SOCK"] = AGENT_SOCKET
        argv = [self.inputs.fill(str(part)) for part in message["argv"]]
        granted = tuple(self.inputs.fds.values())
        try:
            os.chdir(message["cwd"])
            self.leader = spawn(argv, environment, (-1, TOOL_OUT, TOOL_ERR), granted)
        except OSError as problem:
            raise StartError(f"exec:{problem.errno}") from None
        # Only the tool may hold these now, or the runner never sees their end.
        for fd in {TOOL_OUT, TOOL_ERR, FRAMES, *granted}:
            os.close(fd)
        os.chdir("/")
        self.stop_signal = signal.Signals[message["stop_signal"]]
        if message["timeout_ms"] is not None:
            self.stop_at = now() + float(message["timeout_ms"]) / 1000
        self.grace = float(message["grace_ms"]) / 1000
        send({"type": "started"})

    def stop(self, reason: str, grace: float) -> None:
        """Ask every process to end; the agent stays, clean-up may need it."""
        at = now() + grace
        self.kill_at = at if self.kill_at is None else min(at, self.kill_at)
        self.stop_at = None
        if self.reason != "exited":
            return
        self.reason = reason
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) in (1, self.inputs.agent):
                continue
            try:
                os.kill(int(name), self.stop_signal)
            except OSError:
                pass  # gone meanwhile

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.leader:
                end(self.reason, status)

    def check_clocks(self) -> None:
        if self.kill_at is not None and now() >= self.kill_at:
            self.kill()
        if self.stop_at is not None and now() >= self.stop_at:
            self.stop("deadline", self.grace)

    def kill(self) -> NoReturn:
        """Grace is over. SIGKILL to all at once leaves a fork loop no gap."""
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
        give_up = now() + 0.5
        while self.leader is not None and now() < give_up:
            pid, status = os.waitpid(self.leader, os.WNOHANG)
            if pid:
                end(self.reason, status)
            time.sleep(0.002)
        end(self.reason, int(signal.SIGKILL))

    def patience(self) -> int | None:
        waits = [at - now() for at in (self.kill_at, self.stop_at) if at is not None]
        if not waits:
            return None
        return max(0, min(250, int(min(waits) * 1000) + 1))

    def handle(self, message: dict[str, Any], private: bytearray) -> None:
        kind = message["type"]
        if kind == "prepare":
            self.prepare(message)
        elif kind == "extend":
            self.lease.extend(float(message["ms"]))
        elif kind == "stop":
            self.stop("stopped", float(message["grace_ms"]) / 1000)
        elif kind == "start":
            try:
                self.start(message, private)
            except StartError as problem:
                send({"type": "failed", "reason": str(problem)})
                os._exit(1)


class Reader:
    """Cuts the control stream into messages."""

    def __init__(self) -> None:
        self.pending = bytearray()

    def read(self) -> bool:
        chunk = os.read(CONTROL, 1 << 16)
        self.pending += chunk
        return bool(chunk)

    def next(self) -> tuple[dict[str, Any], bytearray] | None:
        if len(self.pending) < HEADER.size:
            return None
        json_size, private_size = HEADER.unpack_from(self.pending)
        if json_size > LARGEST_JSON or private_size > LARGEST_PRIVATE:
            os._exit(1)
        body = HEADER.size + json_size
        if len(self.pending) < body + private_size:
            return None
        message = json.loads(bytes(self.pending[HEADER.size : body]))
        private = self.pending[body : body + private_size]
        self.pending[: body + private_size] = bytes(body + private_size)
        del self.pending[: body + private_size]
        return message, private


def harden() -> None:
    # Same uid as the tool: without this the tool reads our memory and our
    # descriptors through /proc/1.
    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    os.closerange(TOOL_ERR + 1, 1 << 16)
    for fd in (CONTROL, FRAMES, TOOL_OUT, TOOL_ERR):
        os.set_inheritable(fd, False)
    # As pid 1 an unhandled signal from inside the namespace does nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    harden()
    wake_reader, wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poller = select.poll()
    poller.register(CONTROL, select.POLLIN)
    poller.register(wake_reader, select.POLLIN)
    sandbox, reader = Sandbox(), Reader()
    while True:
        for fd, _ in poller.poll(sandbox.patience()):
            if fd == wake_reader:
                os.read(wake_reader, 4096)
            elif not reader.read():
                sys.exit(0)  # the runner is gone
            while (item := reader.next()) is not None:
                sandbox.handle(*item)
        sandbox.reap()
        sandbox.check_clocks()


try:
    main()
except Exception as defect:  # the text could hold job data, the name cannot
    os.write(2, f"aim_init: {type(defect).__name__}\n".encode())
finally:
    # Never hang in interpreter shutdown while a feeder thread still waits.
    os._exit(1)
