# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that every whole stream of frames has to keep."""

from __future__ import annotations

import subprocess
from typing import Any

from launch import Run, derived, recap, summed

FIELDS = {
    "hello": "schema nonce ansible callback",
    "play": "play name hidden",
    "no_hosts": "play reason",
    "task": "task play name hidden handler at",
    "result": "play task host status changed ignored hidden counted hint cause",
    "include": "hosts",
    "retry": "play task host attempt hidden",
    "poll": "play task host hidden",
    "recap": "host ok changed failures unreachable skipped rescued ignored",
    "data": "part parts text",
    "stats": "hosts",
    "end": "frames",
}
CANONICAL = """
const lines = require('fs').readFileSync(0, 'utf8').split('\\n');
if (lines.pop() !== '') process.exit(2);
for (const line of lines) if (JSON.stringify(JSON.parse(line)) !== line) process.exit(3);
"""


def check_canonical(raw: bytes) -> None:
    done = subprocess.run(["node", "-e", CANONICAL], input=raw, check=False, timeout=30)
    assert done.returncode == 0


def check_references(frames: list[dict[str, Any]]) -> None:
    plays: set[int] = set()
    tasks: dict[int, int] = {}
    for frame in frames:
        if frame["k"] == "play":
            assert frame["play"] == len(plays) + 1
            plays.add(frame["play"])
        elif frame["k"] == "task":
            assert frame["task"] == len(tasks) + 1 and frame["play"] in plays
            tasks[frame["task"]] = frame["play"]
        elif frame["k"] in ("result", "retry", "poll"):
            assert tasks[frame["task"]] == frame["play"]
        elif frame["k"] == "no_hosts":
            assert frame["play"] in plays


def check_whole(run: Run) -> None:
    assert run.out == b""
    frames = run.frames
    for number, frame in enumerate(frames, 1):
        assert list(frame) == ["n", "k", *FIELDS[frame["k"]].split()]
        assert frame["n"] == number
        if frame["k"] == "result":
            assert (frame["hint"] is not None) == (frame["status"] in ("failed", "unreachable"))
            if frame["hidden"]:
                assert frame["hint"] in (None, "details_withheld") and frame["cause"] is None
    assert frames[0]["k"] == "hello" and frames[0]["nonce"] == "nonce-1"
    assert [frame["k"] for frame in frames[-2:]] == ["stats", "end"]
    assert frames[-1]["frames"] == len(frames)
    assert frames[-2]["hosts"] == len(run.of("recap"))
    check_references(frames)
    check_canonical(run.raw)
    assert derived(run) == summed(recap(run))


def labels(run: Run, kind: str = "task") -> list[str]:
    """The name of each frame: its text, or how it is withheld in angle brackets."""
    return [frame["name"].get("text", f"<{frame['name']['is']}>") for frame in run.of(kind)]
