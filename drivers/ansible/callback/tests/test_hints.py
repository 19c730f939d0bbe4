# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures: the native text of a result against the two codes."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

import aim_hints

SSH = "Failed to connect to the host via ssh: "
UNREACHABLE = [
    ("ssh: connect to host 10.1.2.3 port 22: Connection refused", "connection_refused", None),
    ("ssh: connect to host 10.1.2.3 port 22: Connection timed out", "connection_timeout", None),
    ("ssh: connect to host m port 22: Operation timed out", "connection_timeout", None),
    ("Connection timed out during banner exchange", "connection_timeout", None),
    ("ssh: connect to host m port 22: Network is unreachable", "host_unreachable", None),
    ("ssh: connect to host m port 22: No route to host", "host_unreachable", None),
    (
        "ssh: Could not resolve hostname m: Name or service not known",
        "name_resolution_failed",
        None,
    ),
    ("aim: egress denied", "host_unreachable", "egress_denied"),
    ("u@m: Permission denied (publickey).", "authentication_failed", "key_rejected"),
    ("u@m: Permission denied (publickey,password).", "authentication_failed", None),
    ("u@m: Permission denied (password).", "authentication_failed", "password_rejected"),
    ("Permission denied, please try again.", "authentication_failed", "password_rejected"),
    ("Invalid/incorrect username/password.", "authentication_failed", "password_rejected"),
    ("Received disconnect: Too many authentication failures", "authentication_failed", None),
    (
        "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.",
        "authentication_failed",
        "host_key_changed",
    ),
    (
        "No ED25519 host key is known for m and you have requested strict checking.\n"
        "Host key verification failed.",
        "authentication_failed",
        "host_key_unknown",
    ),
    ("Unable to negotiate with m port 22: no matching cipher", "authentication_failed", None),
    ("kex_exchange_identification: Connection closed by remote host", "host_unreachable", None),
    (
        "Timeout (12s) waiting for privilege escalation prompt: ",
        "authentication_failed",
        "privilege_escalation_failed",
    ),
    ("subsystem request failed on channel 0", "host_unreachable", "sftp_unavailable"),
    ("mkdir: cannot create: No space left on device", "host_unreachable", "disk_full"),
    ("nothing that is known", "host_unreachable", None),
]
FAILED = [
    ({"msg": "Incorrect sudo password"}, "permission_denied", "privilege_escalation_failed"),
    (
        {
            "msg": "Module result deserialization failed: No start of json char found",
            "module_stdout": "sudo: unable to resolve host m: Name or service not known\n"
            "joe is not in the sudoers file.",
        },
        "permission_denied",
        "privilege_escalation_failed",
    ),
    (
        {
            "msg": "Using a SSH password instead of a key is not possible because Host Key "
            "checking is enabled and sshpass does not support this."
        },
        "permission_denied",
        "host_key_unknown",
    ),
    ({"msg": "Timed out after 3 second(s)."}, "task_failed", "timeout"),
    (
        {"msg": "async task did not complete within the requested time"},
        "task_failed",
        "timeout",
    ),
    ({"msg": "Timeout when waiting for 10.0.0.1:80"}, "connection_timeout", "timeout"),
    ({"msg": "<urlopen error [Errno 111] Connection refused>"}, "connection_refused", None),
    ({"msg": "[SSL: CERTIFICATE_VERIFY_FAILED] certificate"}, "tls_verification_failed", None),
    ({"msg": "Connection failure: timed out"}, "connection_timeout", None),
    ({"msg": "x", "details": "[Errno 13] Permission denied: b'/etc/x'"}, "permission_denied", None),
    ({"msg": "E: Could not open lock file (13: Permission denied)"}, "permission_denied", None),
    ({"msg": "dd: No space left on device"}, "task_failed", "disk_full"),
    ({"msg": "No package matching 'zz' is available"}, "task_failed", "package_not_found"),
    ({"msg": "E: Unable to locate package zz"}, "task_failed", "package_not_found"),
    ({"msg": "Error: 'x' is undefined"}, "task_failed", "undefined_variable"),
    ({"msg": "object of type 'dict' has no attribute 'x'"}, "task_failed", "undefined_variable"),
    ({"msg": "The filter plugin 'f' failed: boom"}, "task_failed", "template_error"),
    ({"msg": "YAML parsing failed: x"}, "task_failed", "syntax_error"),
    (
        {"msg": "Attempting to decrypt but no vault secrets found."},
        "task_failed",
        "vault_password_missing",
    ),
    (
        {"msg": "Decryption failed (no vault secrets were found that could decrypt)."},
        "task_failed",
        "vault_decryption_failed",
    ),
    ({"msg": "couldn't resolve module/action 'zz'."}, "task_failed", "module_missing"),
    (
        {"msg": "Assertion failed", "assertion": "a", "evaluated_to": False},
        "task_failed",
        "assertion_failed",
    ),
    ({"msg": "non-zero return code", "rc": 3, "cmd": "x"}, "task_failed", "command_failed"),
    ({"msg": "Could not find or access 'x'"}, "task_failed", "file_not_found"),
    ({"msg": "MODULE FAILURE", "rc": 1, "module_stderr": "x"}, "task_failed", "module_failure"),
    (
        {"msg": "The module interpreter '/no/python3' was not found.", "rc": 127},
        "task_failed",
        "interpreter_missing",
    ),
    ({"msg": "aim: egress denied"}, "host_unreachable", "egress_denied"),
    ({"msg": "free words of an author"}, "task_failed", None),
    ({"msg": 5, "stderr": None, "reason": ["x", 2]}, "task_failed", None),
]


@pytest.mark.parametrize(("text", "hint", "cause"), UNREACHABLE)
def test_unreachable(text: str, hint: str, cause: str | None) -> None:
    data = {"msg": SSH + text, "unreachable": True}
    assert aim_hints.classify("unreachable", data) == (hint, cause)


@pytest.mark.parametrize(("data", "hint", "cause"), FAILED)
def test_failed(data: dict[str, Any], hint: str, cause: str | None) -> None:
    assert aim_hints.classify("failed", data) == (hint, cause)


def test_every_code_is_in_the_closed_lists() -> None:
    assert {rule.hint for rule in aim_hints.RULES if rule.hint} <= aim_hints.HINTS
    causes = {rule.cause for rule in aim_hints.RULES if rule.cause}
    assert causes | {"command_failed"} == aim_hints.CAUSES


def test_the_chain_of_an_exception_and_the_failing_items_are_read() -> None:
    low = SimpleNamespace(msg="'x' is undefined", chain=None, events=None)
    top = SimpleNamespace(msg="Task failed", chain=SimpleNamespace(event=low), events=None)
    summary = SimpleNamespace(event=top)
    assert aim_hints.classify("failed", {"exception": summary})[1] == "undefined_variable"
    items = [{"msg": "No space left on device"}, {"failed": True, "msg": "'x' is undefined"}]
    assert aim_hints.classify("failed", {"results": items})[1] == "undefined_variable"


def test_hostile_texts_cost_little() -> None:
    words = ("file ", "path path", "the filter plugin ", "sftp server ", "no a ", "could not load ")
    before = time.monotonic()
    for word in words:
        text = word * 2_000_000
        item = {"failed": True, "msg": text, "stderr": text, "module_stdout": text}
        aim_hints.classify("failed", {"msg": text, "results": [item] * 500})
    assert time.monotonic() - before < 20


def test_a_chain_that_never_ends_is_cut() -> None:
    event = SimpleNamespace(msg="x", chain=None, events=None)
    event.chain = SimpleNamespace(event=event)
    event.events = (event,) * 50
    data = {"exception": SimpleNamespace(event=event)}
    assert aim_hints.classify("failed", data) == ("task_failed", None)
