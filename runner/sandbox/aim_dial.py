# SPDX-License-Identifier: Apache-2.0
"""ssh's ProxyCommand: `aim_dial.py HOST PORT`.

The sandbox has no network; the egress broker outside listens on a UNIX socket.
Asks it for a connection, then relays. Errors read as OpenSSH's own do, so that
tools which look at the text tell "unreachable" from "refused" as usual.
Started once per connection: imports nothing but C modules.
"""

from __future__ import annotations

import _socket
import _thread
import os
import sys

BROKER = "/run/aim/egress.sock"
CHUNK = 1 << 17
LONGEST_ANSWER = 64
CONNECT_TEXTS = {
    "refused": "Connection refused",
    "timeout": "Connection timed out",
    "unreachable": "Network is unreachable",
    "no_route": "No route to host",
}


def fail(text: str) -> None:
    line = (text + "\n").encode()
    os.write(2, line)
    # With ControlPersist ssh gives its proxy /dev/null as stderr; the tool still reads ssh's own.
    if os.fstat(2).st_rdev == os.stat("/dev/null").st_rdev:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_NOCTTY
            os.write(os.open(f"/proc/{os.getppid()}/fd/2", flags), line)
        except OSError:
            pass
    os._exit(255)


def describe(code: str, host: str, port: str) -> str:
    if code in CONNECT_TEXTS:
        return f"ssh: connect to host {host} port {port}: {CONNECT_TEXTS[code]}"
    if code == "unknown_host":
        return f"ssh: Could not resolve hostname {host}: Name or service not known"
    if code == "denied":
        return "aim: egress denied"
    return f"aim: egress failed ({code})"


def answer(fd: int) -> str:
    """One line, a byte at a time: what follows it belongs to ssh."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte or len(line) > LONGEST_ANSWER:
            return "ERR broker"
        line += byte
    return line.decode("ascii", "replace").strip()


def copy(source: int, target: int) -> None:
    """Until the end of source, or until target is gone.

    Plain reads and writes: os.splice between ssh's pipe and a UNIX socket came
    to a standstill in the middle of a key exchange.
    """
    try:
        while data := os.read(source, CHUNK):
            view = memoryview(data)
            while view:
                view = view[os.write(target, view) :]
    except OSError:
        pass


def main() -> None:
    host, port = sys.argv[1], sys.argv[2]
    broker = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        broker.connect(BROKER)
        broker.sendall(f"CONNECT {host} {port}\n".encode())
    except OSError:
        fail(describe("broker", host, port))
    fd = broker.fileno()
    verdict = answer(fd)
    if verdict != "OK":
        fail(describe(verdict.removeprefix("ERR "), host, port))

    def upstream() -> None:
        copy(0, fd)
        try:
            broker.shutdown(_socket.SHUT_WR)
        except OSError:
            pass

    _thread.start_new_thread(upstream, ())
    copy(fd, 1)
    os._exit(0)


main()
