# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the native texts of a failed result into two closed codes: a hint and a cause.

Only codes leave this module. A host that lies in its output can at worst pick a wrong code.
The functions are pure and every input is bounded before it is searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

MAX_TEXT: Final = 8192
MAX_ITEMS: Final = 20
MAX_CAUSES: Final = 8

HINTS: Final = frozenset(
    (
        "connection_refused",
        "connection_timeout",
        "name_resolution_failed",
        "tls_verification_failed",
        "authentication_failed",
        "permission_denied",
        "host_unreachable",
        "task_failed",
        "details_withheld",
    )
)
CAUSES: Final = frozenset(
    (
        "host_key_changed",
        "host_key_unknown",
        "key_rejected",
        "password_rejected",
        "interpreter_missing",
        "sftp_unavailable",
        "privilege_escalation_failed",
        "disk_full",
        "package_not_found",
        "undefined_variable",
        "template_error",
        "syntax_error",
        "vault_password_missing",
        "vault_decryption_failed",
        "module_failure",
        "module_missing",
        "assertion_failed",
        "command_failed",
        "file_not_found",
        "timeout",
        "egress_denied",
    )
)

_TEXT_KEYS: Final = (
    "msg",
    "reason",
    "details",
    "response",
    "module_stderr",
    "module_stdout",
    "stderr",
)


class Rule(NamedTuple):
    """One signature. `scope` is `F` (failed only), `U` (unreachable only) or `*`."""

    scope: str
    pattern: re.Pattern[str]
    hint: str | None
    cause: str | None


def _rule(scope: str, pattern: str, hint: str | None, cause: str | None) -> Rule:
    # `.` stops at a line end, so a pattern never joins two unrelated lines.
    return Rule(scope, re.compile(pattern, re.IGNORECASE), hint, cause)


# `.{0,200}` and not `.*`: a text made by a hostile host must not cost quadratic time.
# Order matters: the first rule with a hint gives the hint, the first with a cause the cause.
RULES: Final[tuple[Rule, ...]] = (
    _rule("*", r"\baim: egress denied\b", "host_unreachable", "egress_denied"),
    # A remote sudo may print a name resolution line before its refusal, hence this group first.
    _rule(
        "F",
        r"(?:incorrect|missing) (?:sudo|su|become|doas|dzdo|pbrun|ksu) password"
        r"|is not in the sudoers file|is not allowed to (?:execute|run) "
        r"|sudo: (?:a password is required|\d+ incorrect password attempt|a terminal is required)"
        r"|sorry, you must have a tty to run sudo|su: (?:authentication failure|must be run from)"
        r"|(?:premature end of stream|duplicate become password prompt).{0,200}become success",
        "permission_denied",
        "privilege_escalation_failed",
    ),
    _rule(
        "*",
        r"waiting for (?:privilege escalation prompt|become success)",
        "authentication_failed",
        "privilege_escalation_failed",
    ),
    _rule(
        "*",
        r"timed out after \d+(?:\.\d+)? second"
        r"|async task did not complete within the requested time",
        "task_failed",
        "timeout",
    ),
    # The second part is a refusal of the control side: sshpass cannot answer a host key question.
    _rule(
        "F",
        r"using a ssh password instead of a key is not possible because host key checking",
        "permission_denied",
        "host_key_unknown",
    ),
    _rule(
        "*",
        r"remote host identification has changed|host key for \S+ has changed"
        r"|host key mismatch for|possible dns spoofing detected",
        "authentication_failed",
        "host_key_changed",
    ),
    _rule(
        "*",
        r"host key verification failed|no \S+ host key is known for"
        r"|the authenticity of host .{0,200} can't be established|is not found in known_hosts",
        "authentication_failed",
        "host_key_unknown",
    ),
    _rule(
        "U",
        r"(?:invalid/)?incorrect (?:username/)?password|permission denied, please try again"
        r"|permission denied \((?:password|keyboard-interactive|password,keyboard-interactive"
        r"|keyboard-interactive,password)\)|specified credentials were rejected by the server",
        "authentication_failed",
        "password_rejected",
    ),
    _rule(
        "U",
        r"permission denied \(publickey(?:,gssapi-keyex)?(?:,gssapi-with-mic)?\)"
        r"|private key file is encrypted|failed to add configured private key into ssh-agent"
        r"|load key .{0,200}: (?:error in libcrypto|invalid format|incorrect passphrase)",
        "authentication_failed",
        "key_rejected",
    ),
    _rule(
        "U",
        r"permission denied \([a-z,-]+\)|too many authentication failures"
        r"|no more authentication methods|unable to negotiate with|authentication failure\."
        r"|failed to authenticate|kerberos auth failure|authentication failed",
        "authentication_failed",
        None,
    ),
    _rule(
        "*",
        r"certificate[ _]verify[ _]failed|server certificate verification failed"
        r"|ssl certificate problem|certificate verify failed"
        r"|x509: certificate (?:signed by unknown|has expired)",
        "tls_verification_failed",
        None,
    ),
    # Local permissions come before network words: apt and copy print both.
    _rule(
        "F",
        r"\[errno 13\]|\(13: permission denied\)|errno 1\] operation not permitted"
        r"|permission denied|is not (?:writable|readable)|not writable|are you root\?"
        r"|must be run as root|this command has to be run under the root user"
        r"|you need to be root",
        "permission_denied",
        None,
    ),
    _rule(
        "*",
        r"could not resolve host|name or service not known|temporary failure in name resolution"
        r"|no address associated with (?:host)?name|nodename nor servname"
        r"|name does not resolve|nameresolutionerror|\[errno -[235]\]",
        "name_resolution_failed",
        None,
    ),
    _rule(
        "*",
        r"connection refused|\[errno 111\]|unable to connect to port \d+ on",
        "connection_refused",
        None,
    ),
    _rule(
        "*",
        r"timeout when waiting for ",
        "connection_timeout",
        "timeout",
    ),
    _rule(
        "*",
        r"connection timed out|operation timed out|timed out during banner exchange"
        r"|connection to \S+ port \d+ timed out"
        r"|connection failure: (?:the read operation )?timed out"
        r"|the connection attempt timed out|connecttimeouterror|command timeout triggered"
        r"|http read timeout|urlopen error timed out|read timed out|\[errno 110\]",
        "connection_timeout",
        None,
    ),
    _rule(
        "U",
        r"no route to host|network is unreachable|host is down|connection (?:closed|reset) by"
        r"|kex_exchange_identification",
        "host_unreachable",
        None,
    ),
    _rule("F", r"couldn't connect to server|\[errno (?:101|113)\]", "host_unreachable", None),
    # From here on only causes: the hint stays the general one of the status.
    _rule(
        "*",
        r"no space left on device|disk quota exceeded|\[errno (?:28|122)\]"
        r"|not enough (?:free )?(?:disk )?space|don't have enough free space",
        None,
        "disk_full",
    ),
    _rule(
        "*",
        r"subsystem request failed|sftp-server: (?:not found|no such file)"
        r"|sftp (?:is not|protocol|server) .{0,200}(?:available|missing|not)"
        r"|failed to transfer file .{0,200} sftp|unable to open sftp|via sftp: connection closed",
        None,
        "sftp_unavailable",
    ),
    _rule(
        "*",
        r"the module interpreter .{0,200} was not found|no python interpreters found"
        r"|python[\d.]*['\"]?: (?:command )?not found|python[\d.]*: no such file or directory"
        r"|bad interpreter|env: .{0,200}python[\d.]*.{0,200}: no such file"
        r"|ansible requires a minimum of python|requires python \d",
        None,
        "interpreter_missing",
    ),
    _rule(
        "*",
        r"no vault secrets? (?:were )?found\.|a vault password must be specified to decrypt",
        None,
        "vault_password_missing",
    ),
    _rule(
        "*",
        r"decryption failed \(no vault secrets|hmac verification failed"
        r"|vault (?:envelope|vaulttext) format|vault format unhexlify",
        None,
        "vault_decryption_failed",
    ),
    _rule(
        "*",
        r"is undefined\b|object of type .{0,200} has no attribute|undefined variable"
        r"|mandatory variable .{0,200} not defined|undefinederror",
        None,
        "undefined_variable",
    ),
    _rule(
        "*",
        r"yaml parsing failed|json parsing failed|syntax error in (?:template|expression)"
        r"|template syntax error|unexpected end of template|expected token '"
        r"|encountered unknown tag"
        r"|not a valid attribute for a|conflicting action statements|no module/action detected",
        None,
        "syntax_error",
    ),
    _rule(
        "*",
        r"couldn't resolve module/action|the module \S+ was not found in configured module paths"
        r"|no module named ['\"]?ansible_collections|could not find imported module support code",
        None,
        "module_missing",
    ),
    _rule(
        "*",
        r"no package (?:matching|\S+ available)|unable to locate package|no match for argument"
        r"|could not find a version that satisfies|no matching distribution found"
        r"|no such package|nothing provides|has no installation candidate"
        r"|no packages? found matching",
        None,
        "package_not_found",
    ),
    _rule(
        "*",
        r"assertion failed",
        None,
        "assertion_failed",
    ),
    _rule(
        "*",
        r"error while (?:resolving|evaluating)|templating error|template error"
        r"|the (?:filter|test|lookup) plugin .{0,200} failed|no (?:filter|test) named"
        r"|could not load .{0,200}(?:filter|lookup|test)|conditional result"
        r"|error rendering template"
        r"|finalization of task args|encountered untrusted template",
        None,
        "template_error",
    ),
    _rule(
        "F",
        r"no such file or directory|could not find or access|\[errno 2\]|file not found"
        r"|(?:source|file|path|directory) .{0,200} (?:does not exist|not found)",
        None,
        "file_not_found",
    ),
    _rule(
        "F",
        r"module failure|module result deserialization failed|no start of json char found",
        None,
        "module_failure",
    ),
)

_SCOPES: Final = {"failed": "F", "unreachable": "U"}
_DEFAULTS: Final = {"failed": "task_failed", "unreachable": "host_unreachable"}


def _texts(value: object) -> Iterator[str]:
    """The readable texts of one native value, cut to the bound."""
    if isinstance(value, str):
        yield value[:MAX_TEXT]
    elif isinstance(value, (list, tuple)):
        yield from (part[:MAX_TEXT] for part in value[:MAX_ITEMS] if isinstance(part, str))


def _event_texts(summary: object) -> Iterator[str]:
    """Messages of an error summary and of the chain of causes below it."""
    waiting = [getattr(summary, "event", None)]
    seen = 0
    while waiting and seen < MAX_CAUSES:
        event = waiting.pop(0)
        if event is None:
            continue
        seen += 1
        yield from _texts(getattr(event, "msg", None))
        waiting.append(getattr(getattr(event, "chain", None), "event", None))
        waiting.extend((getattr(event, "events", None) or ())[:MAX_CAUSES])


def _result_texts(data: Mapping[str, Any]) -> Iterator[str]:
    for key in _TEXT_KEYS:
        yield from _texts(data.get(key))
    yield from _event_texts(data.get("exception"))


def _failing_items(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The items of a loop that can explain its failure, up to the bound."""
    items = data.get("results")
    if not isinstance(items, (list, tuple)):
        return []
    bad = (
        item
        for item in items
        if isinstance(item, Mapping) and (item.get("failed") or item.get("unreachable"))
    )
    return [item for item, _ in zip(bad, range(MAX_ITEMS), strict=False)]


def _shape_cause(data: Mapping[str, Any]) -> str | None:
    """A cause that the fields of the result tell, whatever its words say."""
    if "assertion" in data and "evaluated_to" in data:
        return "assertion_failed"
    code = data.get("rc")
    if isinstance(code, int) and code != 0:
        if "cmd" in data:
            return "command_failed"
        if "module_stdout" in data or "module_stderr" in data:
            return "module_failure"
    return None


def match(status: str, text: str) -> tuple[str | None, str | None]:
    """The first hint and the first cause that the rules give for one text."""
    scope = _SCOPES[status]
    hint: str | None = None
    cause: str | None = None
    for rule in RULES:
        if rule.scope not in ("*", scope):
            continue
        wanted = (hint is None and rule.hint is not None) or (
            cause is None and rule.cause is not None
        )
        if wanted and rule.pattern.search(text):
            hint = hint or rule.hint
            cause = cause or rule.cause
            if hint and cause:
                break
    return hint, cause


def classify(status: str, data: Mapping[str, Any]) -> tuple[str, str | None]:
    """The codes of a failed or unreachable result that may be read."""
    parts: list[Mapping[str, Any]] = [data, *_failing_items(data)]
    hint: str | None = None
    cause: str | None = None
    for part in parts:
        found_hint, found_cause = match(status, "\n".join(_result_texts(part)))
        hint = hint or found_hint
        cause = cause or found_cause or _shape_cause(part)
        if hint and cause:
            break
    return hint or _DEFAULTS[status], cause
