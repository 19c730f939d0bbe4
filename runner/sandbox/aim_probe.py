# SPDX-License-Identifier: Apache-2.0
"""The part of the conformance suite that runs inside a sandbox, as its tool.

`aim_probe.py FACTS FD`: FACTS is JSON (what the sandbox was promised to be),
one result a line goes to descriptor FD. Every check tries the forbidden
thing; none trusts what a version or an option says.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Callable
from typing import Any

FACTS: dict[str, Any] = json.loads(sys.argv[1])
CHANNEL = int(sys.argv[2])
LIMITS: dict[str, int] = FACTS["limits"]
LIBC = ctypes.CDLL(None, use_errno=True)
X64 = platform.machine() == "x86_64"
OWN_PID = os.getpid()

Verdict = tuple[bool, str]


def check(name: str, attempt: Callable[[], Verdict]) -> None:
    try:
        ok, detail = attempt()
    except Exception as problem:  # a check that breaks has not passed
        ok, detail = False, f"{type(problem).__name__}: {problem}"
    # One line each, at once: what a crash leaves unsaid then shows by name.
    line = json.dumps({"id": name, "ok": ok, "detail": detail[:200]}) + "\n"
    os.write(CHANNEL, line.encode())


def fails_with(name: str, attempt: Callable[[], object], *allowed: int) -> None:
    def run() -> Verdict:
        try:
            attempt()
        except OSError as problem:
            return problem.errno in allowed, errno.errorcode.get(problem.errno or 0, "?")
        return False, "succeeded"

    check(name, run)


def call(number: int, *arguments: int) -> int:
    result = int(LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments)))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    if result == 0 and os.getpid() != OWN_PID:
        os._exit(0)  # the filter let a clone through: no second probe
    return result


def read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def status(field: str) -> str:
    for line in read("/proc/self/status").splitlines():
        if line.startswith(field + ":"):
            return line.split(":", 1)[1].strip()
    return ""


def equal(name: str, found: Callable[[], object], wanted: object) -> None:
    def run() -> Verdict:
        value = found()
        return value == wanted, f"{value}"

    check(name, run)


def processes() -> None:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    check("init_is_ours", lambda: ("/run/aim/init.py" in read("/proc/1/cmdline"), "pid 1"))
    check("host_processes_hidden", lambda: (len(pids) <= 4, f"{len(pids)} visible"))
    fails_with("runner_unreachable", lambda: os.kill(FACTS["runner_pid"], 0), errno.ESRCH)
    for name in ("environ", "mem", "maps"):
        path = f"/proc/1/{name}"
        fails_with(f"init_{name}_closed", lambda path=path: open(path, "rb"), errno.EACCES)  # type: ignore[misc]
    fails_with("init_descriptors_closed", lambda: os.listdir("/proc/1/fd"), errno.EACCES)
    fails_with("init_root_closed", lambda: os.readlink("/proc/1/root"), errno.EACCES)
    os.kill(1, signal.SIGINT)
    os.kill(1, signal.SIGTERM)
    fails_with("init_not_stopped", lambda: call(62 if X64 else 129, 1, 1 << 20), errno.EINVAL)


def identity() -> None:
    equal("plain_user", lambda: (os.getuid(), os.geteuid(), os.getgid()), (1000, 1000, 1000))
    check("no_host_groups", lambda: (set(os.getgroups()) <= {1000, 65534}, f"{os.getgroups()}"))
    check("user_entry", lambda: (read("/etc/passwd").startswith("aim:x:1000:1000:"), "aim"))
    fails_with("no_setuid_root", lambda: os.setuid(0), errno.EPERM, errno.EINVAL)
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        equal(f"{field.lower()}_empty", lambda field=field: int(status(field), 16), 0)  # type: ignore[misc]
    equal("no_new_privileges", lambda: status("NoNewPrivs"), "1")
    equal("seccomp_filtering", lambda: status("Seccomp"), "2")
    check("usr_nosuid", lambda: (bool(os.statvfs("/usr").f_flag & os.ST_NOSUID), "nosuid"))
    equal("host_name_hidden", socket.gethostname, "aim")
    for kind, inode in FACTS["namespaces"].items():
        own = os.readlink(f"/proc/self/ns/{kind}")
        check(f"own_{kind}_namespace", lambda a=own, b=inode: (a != b, a))  # type: ignore[misc]
    equal("one_user_mapped", lambda: read("/proc/self/uid_map").split()[::2], ["1000", "1"])


def descriptors() -> list[int]:
    listing = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    found = sorted(int(name) for name in os.listdir(listing))
    os.close(listing)
    # listdir itself opens one more, gone by now
    return [fd for fd in found if fd != listing and os.path.exists(f"/dev/fd/{fd}")]


def surroundings() -> None:
    equal("descriptors_exact", descriptors, [0, 1, 2, CHANNEL])
    equal("environment_exact", lambda: dict(os.environ), FACTS["env"])
    equal("stdin_empty", lambda: os.read(0, 1), b"")
    equal("own_session", lambda: os.getsid(0) == os.getpid(), True)
    fails_with("no_terminal", lambda: os.open("/dev/tty", os.O_RDWR), errno.ENXIO)
    equal("starts_in_work", os.getcwd, "/work")
    equal("private_umask", lambda: os.umask(0o077), 0o077)
    # Host agents keep their sockets in /tmp.
    equal("tmp_starts_empty", lambda: os.listdir("/tmp"), [])
    check("secret_file", lambda: (secret_is_private(), "0400 on tmpfs"))


def secret_is_private() -> bool:
    path = "/run/secrets/canary"
    mode = os.stat(path).st_mode & 0o777, os.stat("/run/secrets").st_mode & 0o777
    return mode == (0o400, 0o700) and read(path) == "canary"


def terminal_calls() -> None:
    # Our own controlling terminal, or the kernel refuses TIOCSTI for that reason.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for name, request in (("tiocsti", 0x5412), ("tioclinux", 0x541C)):
        argument = ctypes.addressof(ctypes.create_string_buffer(b"x\0"))
        for suffix, bits in (("", 0), ("_high_bits", 1 << 32)):
            number = 16 if X64 else 29
            fails_with(
                name + suffix,
                lambda n=number, r=request | bits, a=argument: call(n, slave, r, a),  # type: ignore[misc]
                errno.EPERM,
            )
    check("other_ioctl_works", lambda: (len(termios.tcgetattr(slave)) == 7, "TCGETS"))
    os.close(master)
    os.close(slave)


# name: (x86-64, arm64); what a caller without the filter would often be allowed
CALLS = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "mount": (165, 40),
    "umount": (166, 39),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "kexec_load": (246, 104),
    "swapon": (167, 224),
    "reboot": (169, 142),
}


def kernel_calls() -> None:
    for name, numbers in CALLS.items():
        number = numbers[0 if X64 else 1]
        fails_with(f"{name}_refused", lambda n=number: call(n, 99, 0, 0, 0, 0), errno.EPERM)  # type: ignore[misc]
    for name, number in (("io_uring", 425), ("clone3", 435), ("unknown_call", 900)):
        fails_with(f"{name}_absent", lambda n=number: call(n, 0, 0), errno.ENOSYS)  # type: ignore[misc]
    unshare, clone = (272, 56) if X64 else (97, 220)
    for name, flag in (("user", 1 << 28), ("mount", 1 << 17), ("net", 1 << 30)):
        fails_with(f"unshare_{name}", lambda f=flag: call(unshare, f), errno.EPERM)  # type: ignore[misc]
        fails_with(f"clone_{name}", lambda f=flag: call(clone, f | 17, 0, 0, 0, 0), errno.EPERM)  # type: ignore[misc]
    if X64:
        fails_with("x32_absent", lambda: call(0x40000000 | 39), errno.ENOSYS)


def sockets() -> None:
    families = (
        ("packet", 17, socket.SOCK_DGRAM, 0),
        ("vsock", 40, socket.SOCK_STREAM, 0),
        ("crypto", 38, 5, 0),
        ("bluetooth", 31, 3, 1),
        ("raw_v4", socket.AF_INET, socket.SOCK_RAW, 1),
        ("raw_v6", socket.AF_INET6, socket.SOCK_RAW, 58),
        ("netlink_audit", 16, socket.SOCK_RAW, 9),
    )
    for name, family, kind, protocol in families:
        fails_with(
            f"socket_{name}",
            lambda f=family, k=kind, p=protocol: socket.socket(f, k, p),  # type: ignore[misc]
            errno.EPERM,
            errno.EAFNOSUPPORT,
        )
    check("socket_netlink_route", lambda: (socket.socket(16, 3, 0).fileno() > 2, "opens"))


def network() -> None:
    devices = [line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:]]
    equal("only_loopback", lambda: devices, ["lo"])
    equal("no_route", lambda: len(read("/proc/net/route").splitlines()), 1)
    for name, kind in (("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)):
        fails_with(
            f"{name}_unreachable",
            lambda k=kind: socket.socket(socket.AF_INET, k).connect(("192.0.2.1", 53)),  # type: ignore[misc]
            errno.ENETUNREACH,
        )
    equal("no_resolver", resolves, False)
    abstract = [line for line in read("/proc/net/unix").splitlines() if " @" in line]
    equal("host_abstract_sockets_hidden", lambda: abstract, [])
    for name, host, port, wanted in FACTS["dials"]:
        check(f"egress_{name}", lambda h=host, p=port, w=wanted: dial(h, p, w))  # type: ignore[misc]


def resolves() -> bool:
    try:
        socket.getaddrinfo("example.com", 80)
    except OSError:
        return False
    return True


def dial(host: str, port: int, wanted: str) -> Verdict:
    command = [sys.executable, "-I", "-S", "/run/aim/dial.py", host, str(port)]
    done = subprocess.run(command, input=b"ping\n", capture_output=True, timeout=20, check=False)
    said = (done.stdout + done.stderr).decode().strip()
    return said == wanted, said


def writing() -> None:
    folders = (
        "/",
        "/usr",
        "/usr/bin",
        "/etc",
        "/etc/ssh",
        "/dev",
        "/run",
        "/run/aim",
        "/var",
        "/home",
    )
    for folder in folders:
        fails_with(
            f"no_write_{folder.strip('/').replace('/', '_') or 'root'}",
            lambda f=folder: open(f"{f}/aim-probe", "w"),  # type: ignore[misc]
            errno.EROFS,
            errno.EACCES,
        )
    fails_with("no_write_init", lambda: open("/run/aim/init.py", "r+"), errno.EROFS, errno.EACCES)
    fails_with(
        "no_write_sysctl",
        lambda: open("/proc/sys/kernel/core_pattern", "r+"),
        errno.EROFS,
        errno.EACCES,
    )
    check("work_writable", lambda: (open("/work/probe", "w").write("x") == 1, "/work"))
    equal("writable_mounts_exact", writable_mounts, FACTS["writable"])
    fails_with(
        "work_no_devices", lambda: os.mknod("/work/null", 0o20666, os.makedev(1, 3)), errno.EPERM
    )
    for folder in ("/tmp", "/dev/shm", "/home/aim"):
        check(f"full_{folder.strip('/').replace('/', '_')}", lambda f=folder: fill(f))  # type: ignore[misc]


def writable_mounts() -> list[str]:
    places = []
    for line in read("/proc/self/mountinfo").splitlines():
        before, after = line.split(" - ", 1)
        place, options = before.split()[4:6]
        if "rw" in options.split(",") and after.split()[0] not in ("proc", "devpts", "devtmpfs"):
            places.append(place)
    return sorted(place for place in places if not place.startswith("/dev/") or place == "/dev/shm")


def fill(folder: str) -> Verdict:
    path, block, written = folder + "/full", bytes(1 << 20), 0
    try:
        with open(path, "wb", buffering=0) as file:
            while written <= LIMITS["tmpBytes"]:
                written += file.write(block)
    except OSError as problem:
        return problem.errno == errno.ENOSPC, f"full after {written} bytes"
    finally:
        os.unlink(path)
    return False, f"took {written} bytes"


def limits() -> None:
    wanted = (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_NOFILE", LIMITS["openFiles"]),
        ("RLIMIT_FSIZE", LIMITS["fileBytes"]),
        ("RLIMIT_NPROC", LIMITS["pids"]),
        ("RLIMIT_DATA", LIMITS["memoryBytes"]),
    )
    for name, value in wanted:
        number = int(getattr(resource, name))
        equal(name.lower(), lambda n=number: resource.getrlimit(n), (value, value))  # type: ignore[misc]
    check("memory_bounded", memory_bounded)
    check("open_files_bounded", open_files_bounded)
    check("fork_bomb_bounded", forks_bounded)


def memory_bounded() -> Verdict:
    try:
        mmap.mmap(-1, LIMITS["memoryBytes"] + (64 << 20), flags=mmap.MAP_PRIVATE).close()
    except (OSError, MemoryError):
        return True, "refused"
    return False, "given"


def open_files_bounded() -> Verdict:
    held: list[int] = []
    try:
        while len(held) <= LIMITS["openFiles"]:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as problem:
        return problem.errno == errno.EMFILE, f"after {len(held)}"
    finally:
        for fd in held:
            os.close(fd)
    return False, "no end"


def forks_bounded() -> Verdict:
    children: list[int] = []
    try:
        while len(children) <= LIMITS["pids"]:
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
    except OSError as problem:
        return problem.errno == errno.EAGAIN, f"stopped after {len(children)}"
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
    return False, "no end"


def host() -> None:
    equal("run_exact", lambda: sorted(os.listdir("/run")), ["aim", "secrets"])
    for name, path in FACTS["absent"]:
        check(f"absent_{name}", lambda p=path: (not os.path.lexists(p), p))  # type: ignore[misc]
    known = {"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm"}
    known |= {"stderr", "stdin", "stdout", "tty", "urandom", "zero"}
    found = set(os.listdir("/dev"))
    check("devices_exact", lambda: (found <= known, ",".join(sorted(found - known))))
    config = "/etc/ssh/ssh_config"
    check("ssh_goes_through_broker", lambda: ("/run/aim/dial.py %h %p" in read(config), config))


for group in (
    surroundings,
    processes,
    identity,
    terminal_calls,
    kernel_calls,
    sockets,
    network,
    writing,
    limits,
    host,
):
    group()
