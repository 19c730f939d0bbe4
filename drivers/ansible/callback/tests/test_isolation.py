# SPDX-License-Identifier: GPL-3.0-or-later
"""No other callback is loaded, no child sees the channel, and a broken channel ends the run."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from frame_rules import check_whole
from launch import DATA, SOURCE, Started, environment, play


def test_foreign_callbacks_are_never_loaded(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    env = {
        "FOREIGN_MARK": str(mark),
        "ANSIBLE_CONFIG": str(DATA / "foreign" / "ansible.cfg"),
        "ANSIBLE_CALLBACK_PLUGINS": str(DATA / "foreign" / "callback_plugins"),
    }
    run = play("foreign", "-i", "hosts.ini", "site.yml", env=env)
    assert run.code == 0
    check_whole(run)
    assert not mark.exists()


def test_the_channel_is_not_seen_below(tmp_path: Path) -> None:
    started = Started("fds", ["-i", "hosts.ini", "-e", f"out_dir={tmp_path}", "site.yml"])
    channel = f"pipe:[{os.fstat(started.reader.fileno()).st_ino}]"
    run = started.finish()
    assert run.code == 0, run.err.decode()
    check_whole(run)
    seen = (tmp_path / "seen").read_text()
    assert "AIM_" not in seen and "nonce-1" not in seen
    assert "pipe:[" in seen and channel not in seen
    assert "dumpable=0" in seen


def test_no_worker_keeps_the_pipe_open() -> None:
    started = Started("fds", ["-i", "hosts.ini", "wait.yml"])
    lines = [started.reader.readline() for _ in range(3)]
    assert json.loads(lines[-1])["k"] == "task"
    time.sleep(1)
    os.kill(started.process.pid, signal.SIGKILL)
    before = time.monotonic()
    rest = started.reader.read()
    assert time.monotonic() - before < 5 and rest == b""
    started.process.wait(timeout=10)
    started.finish()


def test_a_closed_reader_ends_the_run() -> None:
    started = Started("fds", ["-i", "hosts.ini", "steps.yml"])
    for _ in range(4):
        assert started.reader.readline()
    started.reader.close()
    before = time.monotonic()
    started.process.communicate(timeout=30)
    assert started.process.returncode == -signal.SIGTERM
    assert time.monotonic() - before < 25


def test_a_stopped_run_has_no_end() -> None:
    started = Started("fds", ["-i", "hosts.ini", "wait.yml"])
    head = [started.reader.readline() for _ in range(3)]
    started.process.send_signal(signal.SIGTERM)
    run = started.finish()
    assert run.code == -signal.SIGTERM
    kinds = [json.loads(line)["k"] for line in head] + [frame["k"] for frame in run.frames]
    assert "stats" not in kinds and "end" not in kinds


@pytest.mark.parametrize("broken", ["aim_hints.classify", "aim_source.place_of"])
def test_a_fault_of_the_callback_ends_the_run(broken: str) -> None:
    module, name = broken.split(".")
    code = (
        "import sys, os\nsys.path.insert(0, os.environ['SOURCE'])\nimport aim_play\n"
        "aim_play.prewarm()\n"
        f"setattr(sys.modules[{module!r}], {name!r}, None)\n"
        "config = aim_play.Config('n', None, 0, int(os.environ['FD']))\n"
        "aim_play.run(config, ['-i', 'hosts.ini', 'once.yml'])\n"
    )
    read, write = os.pipe()
    done = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=DATA / "rings",
        env=environment({"SOURCE": str(SOURCE), "FD": str(write)}),
        pass_fds=(write,),
    )
    os.close(write)
    with os.fdopen(read, "rb") as source:
        kinds = [json.loads(line)["k"] for line in source.read().splitlines()]
    assert done.wait(timeout=30) == -signal.SIGTERM
    assert kinds[:2] == ["hello", "play"] and "end" not in kinds


def test_digest_covers_the_sources() -> None:
    run = play("waves", "-i", "localhost,", "percent.yml")
    data = b"".join(source.read_bytes() for source in sorted(SOURCE.glob("aim_*.py")))
    assert run.of("hello")[0]["callback"] == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-i", "hosts.ini", "not-there.yml"], 1),
        (["-i", "hosts.ini", "site.yml", "percent.yml"], 2),
        (["--no-such-option"], 2),
    ],
)
def test_refused_before_any_play(arguments: list[str], code: int) -> None:
    run = play("waves", *arguments)
    assert run.code == code
    assert [frame["k"] for frame in run.frames] == ["hello"]


def test_wrong_start_of_the_launcher() -> None:
    command = [sys.executable, "-I", str(SOURCE / "aim_play.py")]
    for arguments in (["--frames-fd", "1", "--config-fd", "2", "--", "x"], ["x"]):
        done = subprocess.run([*command, *arguments], capture_output=True, check=False, timeout=30)
        assert done.returncode == 5 and done.stdout == b""


def test_as_an_aggregate_plugin_of_plain_ansible(tmp_path: Path) -> None:
    (tmp_path / "aim_events.py").symlink_to(SOURCE / "aim_events.py")
    read, write = os.pipe()
    env = {
        "ANSIBLE_CALLBACK_PLUGINS": str(tmp_path),
        "ANSIBLE_CALLBACKS_ENABLED": "aim_events",
        "AIM_FRAMES_FD": str(write),
        "AIM_FRAMES_NONCE": "nonce-1",
    }
    done = subprocess.Popen(
        [sys.executable, "-m", "ansible", "playbook", "-i", "hosts.ini", "handlers.yml"],
        cwd=DATA / "waves",
        env=environment(env),
        pass_fds=(write,),
        stdout=subprocess.PIPE,
    )
    os.close(write)
    with os.fdopen(read, "rb") as source:
        lines = source.read().splitlines()
    out = done.communicate(timeout=60)[0]
    assert done.returncode == 0 and b"PLAY RECAP" in out
    assert json.loads(lines[0])["nonce"] == "nonce-1"
    assert json.loads(lines[-1]) == {"n": len(lines), "k": "end", "frames": len(lines)}
