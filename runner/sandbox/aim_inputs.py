# SPDX-License-Identifier: Apache-2.0
"""A tool's private inputs, and how a process is started inside the sandbox.

Used by aim_init.py only. Values live in bytearrays and are overwritten once
handed over; errors carry fixed codes, never job data.
"""

from __future__ import annotations

import _thread
import os
import re
import select
import signal
import stat
import time
from typing import Any

SECRETS = "/run/secrets"
AGENT_SOCKET = SECRETS + "/agent.sock"
PASSPHRASE = SECRETS + "/.passphrase"
ASKPASS = "/run/aim/askpass"
# A pipe takes this much without a reader; ssh-add gets its key in one write.
LARGEST_KEY = 60_000
AGENT_SECONDS = 10.0
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}\Z")
PLACEHOLDER = re.compile(r"\{(fd|path):([a-z0-9][a-z0-9_-]{0,62})\}")


class StartError(Exception):
    """The job cannot start; the text is a fixed code, never job data."""


def now() -> float:
    """Seconds that go on counting while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]


def wipe(data: bytearray) -> None:
    data[:] = bytes(len(data))


def feed(fd: int, data: bytearray) -> None:
    """Thread body: hand `data` to whoever reads the pipe, then forget it."""
    try:
        write_all(fd, memoryview(data))
    except OSError:
        pass  # the tool closed its end early: its business
    finally:
        os.close(fd)
        wipe(data)


def feed_fifo(path: str, data: bytearray) -> None:
    """Thread body: the open waits here, not in the main loop, for a reader."""
    try:
        feed(os.open(path, os.O_WRONLY | os.O_CLOEXEC), data)
    except OSError:
        wipe(data)


class Inputs:
    """The tool's private inputs: made in order, each handed over once."""

    def __init__(self) -> None:
        self.fds: dict[str, int] = {}
        self.paths: dict[str, str] = {}
        self.agent: int | None = None

    def add(self, item: dict[str, Any], data: bytearray) -> None:
        kind, name = str(item["kind"]), str(item["name"])
        if kind == "ssh_key":
            self._ssh_key(data, int(item.get("passphrase", 0)))
            return
        if not NAME.match(name) or name in self.fds or name in self.paths:
            raise StartError("input_name")
        if kind == "pipe":
            reader, writer = os.pipe2(os.O_CLOEXEC)
            self.fds[name] = reader
            _thread.start_new_thread(feed, (writer, data))
        elif kind == "fifo":
            self.paths[name] = f"{SECRETS}/{name}"
            os.mkfifo(self.paths[name], 0o600)
            _thread.start_new_thread(feed_fifo, (self.paths[name], data))
        elif kind == "file":
            self.paths[name] = f"{SECRETS}/{name}"
            write_file(self.paths[name], data)
        else:
            raise StartError("input_kind")

    def fill(self, text: str) -> str:
        """Puts descriptor numbers and paths where the argument asks for them."""

        def value(match: re.Match[str]) -> str:
            kind, name = match.groups()
            known: dict[str, int] | dict[str, str] = self.fds if kind == "fd" else self.paths
            if name not in known:
                raise StartError("placeholder")
            return str(known[name])

        return PLACEHOLDER.sub(value, text)

    def _ssh_key(self, data: bytearray, passphrase_size: int) -> None:
        """Private key, then its passphrase, in one run of bytes."""
        if self.agent is None:
            self.agent = start_agent()
        cut = len(data) - passphrase_size
        key, passphrase = data[:cut], data[cut:]
        wipe(data)
        if not 0 < len(key) <= LARGEST_KEY:
            raise StartError("ssh_key")
        if not key.endswith(b"\n"):
            key += b"\n"
        if passphrase_size:
            write_file(PASSPHRASE, passphrase)
        try:
            add_key(key)
        finally:
            if passphrase_size and os.path.exists(PASSPHRASE):
                os.unlink(PASSPHRASE)


def write_file(path: str, data: bytearray) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
    try:
        write_all(fd, memoryview(data))
    finally:
        os.close(fd)
        wipe(data)


def start_agent() -> int:
    """ssh-agent prints its address once it listens: that is the signal."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    argv = ["/usr/bin/ssh-agent", "-D", "-a", AGENT_SOCKET]
    try:
        pid = spawn(argv, base_environment(), (-1, writer, -1), ())
    except OSError:
        raise StartError("ssh_agent") from None
    finally:
        os.close(writer)
    ready, _, _ = select.select([reader], [], [], AGENT_SECONDS)
    heard = bool(ready) and bool(os.read(reader, 4096))
    os.close(reader)
    if not heard or not stat.S_ISSOCK(os.stat(AGENT_SOCKET).st_mode):
        raise StartError("ssh_agent")
    return pid


def add_key(key: bytearray) -> None:
    reader, writer = os.pipe2(os.O_CLOEXEC)
    write_all(writer, memoryview(key))
    os.close(writer)
    wipe(key)
    environment = base_environment() | {
        "SSH_AUTH_SOCK": AGENT_SOCKET,
        "SSH_ASKPASS": ASKPASS,
        "SSH_ASKPASS_REQUIRE": "force",
    }
    pid = spawn(["/usr/bin/ssh-add", "-q", "-"], environment, (reader, -1, -1), ())
    os.close(reader)
    give_up = now() + AGENT_SECONDS
    while now() < give_up:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done == pid:
            if status != 0:
                raise StartError("ssh_key")
            return
        time.sleep(0.001)
    raise StartError("ssh_key")


def base_environment() -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/aim", "LC_ALL": "C.UTF-8"}


def spawn(
    argv: list[str],
    environment: dict[str, str],
    standard: tuple[int, int, int],
    granted: tuple[int, ...],
) -> int:
    """New session, default signals, and no descriptor that was not granted.

    `standard` are the sources of 0, 1 and 2; -1 stands for /dev/null.
    """
    actions: list[tuple[int, int] | tuple[int, int, int] | tuple[int, int, str, int, int]] = []
    for number, source in enumerate(standard):
        if source == -1:
            actions.append((os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0))
        else:
            actions.append((os.POSIX_SPAWN_DUP2, source, number))
    # A dup2 onto itself clears close-on-exec, in the child only.
    actions.extend((os.POSIX_SPAWN_DUP2, fd, fd) for fd in granted)
    usual = [s for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP)]
    return os.posix_spawn(
        argv[0],
        argv,
        environment,
        file_actions=actions,
        setsid=True,
        setsigmask=[],
        setsigdef=usual,
    )
