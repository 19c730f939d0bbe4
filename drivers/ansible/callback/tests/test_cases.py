# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs with known trouble: hiding, names, counting, order."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from frame_rules import check_whole, labels
from launch import Run, native_recap, play, recap

SECRETS = (
    "Quince-52-Plover",
    "Medlar-19-Dipper",
    "Bilberry/31+Knot=",
    "Sloe%2044",
    "Bilberry",
)


def whole(folder: str | Path, *arguments: str, code: int = 0, **more: Any) -> Run:
    run = play(folder, *arguments, **more)
    assert run.code == code, run.err.decode()
    check_whole(run)
    for secret in SECRETS:
        assert secret.encode() not in run.raw
    return run


def rows(run: Run, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(frame[field] for field in fields) for frame in run.of("result")]


def test_errors_under_no_log_tell_nothing() -> None:
    run = whole("hidden", "-i", "hosts.ini", "errors.yml")
    assert labels(run) == ["<hidden>"] * 3 + ["The end in the open"]
    found = rows(run, "status", "ignored", "hidden", "hint", "cause")
    assert found[:6] == [("failed", True, True, "details_withheld", None)] * 6
    assert found[6:] == [("ok", False, False, None, None)] * 2


def test_loop_item_diff_retry_and_poll(tmp_path: Path) -> None:
    run = whole("loops", "--diff", "-i", "hosts.ini", "-e", f"out_dir={tmp_path}", "site.yml")
    assert rows(run, "status", "ignored", "cause")[:3] == [
        ("failed", True, "assertion_failed"),
        ("changed", False, None),
        ("failed", True, "assertion_failed"),
    ]
    assert [(f["task"], f["attempt"]) for f in run.of("retry")] == [(3, 1), (3, 2)]
    polls = run.of("poll")
    assert polls and {poll["task"] for poll in polls} == {4}


def test_hiding_decided_by_the_result() -> None:
    run = whole("hidden", "-i", "hosts.ini", "by_result.yml")
    assert labels(run)[0] == "Looks open"
    assert [frame["hidden"] for frame in run.of("result")] == [True] * 4 + [False] * 2


def test_hiding_by_expression() -> None:
    run = whole("hidden", "-i", "hosts.ini", "by_expression.yml")
    assert labels(run) == ["<hidden>"] * 3
    assert all(frame["hidden"] for frame in run.of("result"))


def test_hiding_by_level_include_and_double_key() -> None:
    run = whole("hidden", "-i", "hosts.ini", "levels.yml")
    assert labels(run, "play") == ["<hidden>", "An include that is closed"]
    assert labels(run) == [
        "<hidden>",
        "Opens itself",
        "Within the open block",
        "<hidden>",
        "<hidden>",
        "<hidden>",
        "<hidden>",
        "Late name",
    ]


def test_hiding_by_role() -> None:
    run = whole("hidden", "-i", "hosts.ini", "by_role.yml")
    assert labels(run) == ["<hidden>", "<hidden>", "Told in a hidden role"]


def test_names_are_the_source_and_never_rendered() -> None:
    run = whole("names", "-i", "hosts.ini", "site.yml")
    assert b"Damson" not in run.raw
    assert labels(run, "play") == ["<dynamic>"]
    assert labels(run) == [
        "<dynamic>",
        "An ordinary name",
        "<missing>",
        "<missing>",
        "<dynamic>",
        "<dynamic>",
        "Has ${ONE} and {two}",
        "<other>",
        "<dynamic>",
    ]
    assert [frame["handler"] for frame in run.of("task")] == [False] * 8 + [True]
    path, line = run.of("task")[1]["at"]
    assert path.endswith("roles/depot/tasks/main.yml") and line == 5


@pytest.mark.parametrize("book", ["once.yml", "fatal.yml"])
def test_rescued_but_failed(book: str) -> None:
    run = whole("rings", "-i", "hosts.ini", book, code=2)
    assert native_recap("rings", "-i", "hosts.ini", book) == (2, recap(run))
    assert sum(row["rescued"] for row in recap(run).values()) == 1


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs an ssh client")
def test_ignored_arithmetic() -> None:
    run = whole("ledger", "-i", "hosts.ini", "site.yml", code=4)
    assert native_recap("ledger", "-i", "hosts.ini", "site.yml") == (4, recap(run))
    lost = [frame for frame in run.of("result") if frame["host"] == "lost"]
    assert (lost[0]["status"], lost[0]["ignored"]) == ("unreachable", True)
    assert (lost[-1]["status"], lost[-1]["ignored"]) == ("unreachable", False)
    assert {lost[0]["hint"], lost[-1]["hint"]} == {"connection_refused"}


def test_serial_batches_are_new_occurrences() -> None:
    run = whole("waves", "-i", "hosts.ini", "site.yml", code=2)
    assert native_recap("waves", "-i", "hosts.ini", "site.yml") == (2, recap(run))
    assert labels(run, "play") == ["Wave by wave"] * 2
    assert set(recap(run)) == {"wave-1", "wave-2", "wave-3"}


def test_no_hosts_remaining_once() -> None:
    run = whole("waves", "-i", "hosts.ini", "percent.yml", code=2)
    assert [frame["reason"] for frame in run.of("no_hosts")] == ["no_hosts_remaining"]


def test_no_hosts_matched() -> None:
    run = whole("waves", "-i", "localhost,", "percent.yml")
    assert [frame["reason"] for frame in run.of("no_hosts")] == ["no_hosts_matched"]
    assert recap(run) == {}


def test_handlers_of_a_second_flush_and_repeated_meta() -> None:
    run = whole("waves", "-i", "hosts.ini", "handlers.yml")
    assert labels(run) == ["Ask", "Now", "Answer", "Ask again", "Answer"]
    assert len(run.of("result")) == 20


def test_free_strategy() -> None:
    run = whole("pace", "-i", "hosts.ini", "site.yml", code=2)
    assert native_recap("pace", "-i", "hosts.ini", "site.yml") == (2, recap(run))
    assert labels(run).count("Begin") == 1
    meta = [frame for frame in run.of("result") if frame["counted"] == "meta"]
    assert {(frame["host"], frame["status"]) for frame in meta} == {
        ("brisk", "skipped"),
        ("idle", "skipped"),
    }
    last = [frame for frame in run.of("result") if frame["play"] == 2]
    assert [frame["host"] for frame in last] == ["idle"]


def local_inventory(path: Path, group: str, names: list[str]) -> str:
    settings = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }
    hosts: dict[str, Any] = {name: {} for name in names}
    path.write_text(json.dumps({group: {"vars": settings, "hosts": hosts}}))
    return str(path)


def test_odd_names(tmp_path: Path) -> None:
    hosts = ["caf\u00e9", "cafe\u0301", "\u0441\u0435\u0440\u0432\u0435\u0440", "\U0001f6f6-up"]
    hosts += ["\u202eturned", "no\u200bwidth", "2001:db8::9", "a b", "PLAY RECAP", "null"]
    hosts += ["r" * 300]
    names = ["L" * 201, "\U0001f9ff" * 200, "e\u0301" * 100, "x" * 801, "y" * 802]
    names += ["\u202eabc", "  both ends  ", "tab\there"]
    tasks = [{"name": name, "ansible.builtin.debug": {"msg": "fine"}} for name in names]
    book = [{"name": "Fin \U0001f3c1", "hosts": "odd", "gather_facts": False, "tasks": tasks}]
    (tmp_path / "site.yml").write_text(json.dumps(book))
    inventory = local_inventory(tmp_path / "hosts.json", "odd", hosts)
    run = whole(tmp_path, "-f", "3", "-i", inventory, "site.yml")
    assert set(recap(run)) == set(hosts)
    assert labels(run, "play") == ["Fin \U0001f3c1"]
    assert labels(run) == [name if len(name) <= 801 else "<long>" for name in names]


def test_control_characters(tmp_path: Path) -> None:
    forged = "brink-1\nPLAY RECAP ****\nbrink-1 : ok=9 changed=0 unreachable=0 failed=0"
    hosts = ["brink-1", "brink-2", forged, "esc\x1bape", "z" * 1500]
    inventory = local_inventory(tmp_path / "hosts.json", "brink", hosts)
    run = whole("control", "-i", inventory, "site.yml", code=2)
    kept = set(recap(run)) & set(hosts)
    assert kept == set(hosts[:4]) and len(recap(run)) == 5
    assert labels(run)[2].startswith("Bell \a back \b nul \0 del \x7f next \x85 sep \u2028 quote")
    assert all(not set(line) & set(range(32)) for line in run.raw.split(b"\n"))


def test_result_data_only_under_the_declared_key() -> None:
    run = whole("result", "-i", "hosts.ini", "site.yml", result_key="outcome")
    text = "".join(frame["text"] for frame in run.of("data"))
    assert json.loads(text) == {"size": 3, "text": "\u00fc" * 3}
    assert [frame["k"] for frame in run.frames].index("data") < len(run.frames) - 2
    big = ["-i", "hosts.ini", "-e", "size=20000", "site.yml"]
    run = whole("result", *big, result_key="outcome")
    parts = [(frame["part"], frame["parts"]) for frame in run.of("data")]
    assert parts == [(1, 3), (2, 3), (3, 3)]
    run = whole("result", *big[:3], "size=40000", "site.yml", result_key="outcome")
    assert [(f["part"], f["parts"], f["text"]) for f in run.of("data")] == [(1, 1, "")]
    assert whole("result", "-i", "hosts.ini", "site.yml").of("data") == []
