# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the launcher, the inspector and a plain ansible-playbook as a driver would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent
DATA = HERE / "data"
ROW = ("ok", "changed", "unreachable", "failed", "skipped", "rescued", "ignored")


class Run(NamedTuple):
    code: int
    out: bytes
    err: bytes
    raw: bytes

    @property
    def frames(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw.decode().split("\n")[:-1]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["k"] == kind]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
    base = {
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_RETRY_FILES_ENABLED": "0",
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "LC_ALL": "C.UTF-8",
    }
    return {**kept, **base, **(extra or {})}


class Started:
    """A launcher that is running; its frames are read in a thread."""

    def __init__(
        self,
        folder: str | Path,
        arguments: Sequence[str],
        env: Mapping[str, str] | None = None,
        result_key: str | None = None,
    ) -> None:
        read, write = os.pipe()
        config_read, config_write = os.pipe()
        config = {"nonce": "nonce-1", "result_key": result_key, "result_max": 65_536}
        os.write(config_write, json.dumps(config).encode())
        os.close(config_write)
        command = [sys.executable, "-I", str(SOURCE / "aim_play.py")]
        command += ["--frames-fd", str(write), "--config-fd", str(config_read), "--", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=DATA / folder,
            env=environment(env),
            pass_fds=(write, config_read),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.close(write)
        os.close(config_read)
        self.reader = os.fdopen(read, "rb")

    def finish(self) -> Run:
        parts: list[bytes] = []
        thread = threading.Thread(target=lambda: parts.append(self.reader.read()))
        thread.start()
        out, err = self.process.communicate(timeout=60)
        thread.join(timeout=10)
        self.reader.close()
        return Run(self.process.returncode, out, err, b"".join(parts))


def play(folder: str | Path, *arguments: str, **more: Any) -> Run:
    return Started(folder, arguments, **more).finish()


def inspect(folder: str | Path, env: Mapping[str, str] | None = None, **config: Any) -> Any:
    read, write = os.pipe()
    config_read, config_write = os.pipe()
    os.write(config_write, json.dumps(config).encode())
    os.close(config_write)
    command = [sys.executable, "-I", str(SOURCE / "aim_inspect.py")]
    done = subprocess.Popen(
        [*command, "--out-fd", str(write), "--config-fd", str(config_read)],
        cwd=DATA / folder,
        env=environment(env),
        pass_fds=(write, config_read),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(write)
    os.close(config_read)
    with os.fdopen(read, "rb") as source:
        data = source.read()
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out, err) == (0, b"", b"")
    assert data.count(b"\n") == 1 and data.endswith(b"\n")
    return json.loads(data)


def native_recap(folder: str | Path, *arguments: str) -> tuple[int, dict[str, dict[str, int]]]:
    """Exit code and PLAY RECAP of a plain ansible-playbook."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "ansible", "playbook", *arguments],
        cwd=DATA / folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    text = done.stdout.decode().rpartition("PLAY RECAP ")[2]
    rows: dict[str, dict[str, int]] = {}
    for line in text.splitlines()[1:]:
        name, _, counts = line.rpartition(" : ")
        if name:
            found = dict(re.findall(r"(\w+)=(\d+)", counts))
            rows[name.strip()] = {key: int(found[key]) for key in ROW}
    return done.returncode, rows


def recap(run: Run) -> dict[str, dict[str, int]]:
    rows = {}
    for frame in run.of("recap"):
        row = {**frame, "failed": frame["failures"]}
        rows[frame["host"]] = {key: row[key] for key in ROW}
    return rows


def derived(run: Run) -> dict[str, dict[str, int]]:
    """Counts from the results alone; failed and rescued cannot be told apart there."""
    rows: dict[str, dict[str, int]] = {}

    def add(host: str, *keys: str) -> None:
        row = rows.setdefault(host, dict.fromkeys((*ROW[:3], "failed+rescued", *ROW[4:]), 0))
        row.pop("rescued", None)
        for key in keys:
            row[key] += 1

    for frame in run.frames:
        if frame["k"] == "include":
            for host in frame["hosts"]:
                add(host, "ok")
        if frame["k"] != "result" or frame["counted"] != "yes":
            continue
        host, changed = frame["host"], ["changed"] * frame["changed"]
        if frame["status"] in ("ok", "changed"):
            add(host, "ok", *changed)
        elif frame["status"] == "skipped":
            add(host, "skipped")
        elif frame["ignored"]:
            add(host, "ok", "ignored", *(changed if frame["status"] == "failed" else []))
        else:
            add(host, "failed+rescued" if frame["status"] == "failed" else "unreachable")
    return rows


def summed(rows: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    found = {}
    for host, row in rows.items():
        kept = {key: row[key] for key in ROW if key not in ("failed", "rescued")}
        found[host] = {**kept, "failed+rescued": row["failed"] + row["rescued"]}
    return found
