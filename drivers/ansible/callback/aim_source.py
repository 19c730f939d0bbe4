# SPDX-License-Identifier: GPL-3.0-or-later
"""What the source says about a play or task: its raw name, its place, whether it is hidden."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from ansible._internal._datatag._tags import Origin

MAX_NAME: Final = 801
MAX_HOST: Final = 1_024
MAX_PATH: Final = 4_096
_FALSE_WORDS: Final = frozenset(("false", "no", "off", "n", "f", "0", "0.0"))
_MARKERS: Final = ("{{", "{%", "{#", "#jinja2:")


def plain_text(value: object) -> str | None:
    """A native `str` without tags, or None. Never converts: `str()` of a vault value decrypts."""
    if not isinstance(value, str):
        return None
    text = "".join(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return text


def source_value(thing: object, key: str) -> tuple[bool, object]:
    """Whether the source of a play, block or task gives the key, and the value as parsed."""
    source = getattr(thing, "_ds", None)
    if isinstance(source, Mapping) and key in source:
        return True, source[key]
    return False, None


def name_of(thing: object, hidden: bool) -> dict[str, str]:
    if hidden:
        return {"is": "hidden"}
    given, value = source_value(thing, "name")
    if not given or value is None:
        return {"is": "missing"}
    text = plain_text(value)
    if text is None:
        return {"is": "other"}
    if not text:
        return {"is": "missing"}
    if any(marker in text for marker in _MARKERS):
        return {"is": "dynamic"}
    if len(text) > MAX_NAME:
        return {"is": "long"}
    return {"is": "text", "text": text}


def host_text(name: object) -> str:
    """The host name; one that no reviewed name can equal stays unique and within the frame."""
    raw = "".join(name) if isinstance(name, str) else ""
    if plain_text(raw) is not None and len(raw) <= MAX_HOST:
        return raw
    data = raw.encode("utf-8", "surrogatepass")
    head = data[:MAX_HOST].decode("utf-8", "replace")
    return f"{head}\ufffd{hashlib.sha256(data).hexdigest()}"


def provably_open(value: object) -> bool:
    """Whether a `no_log` value is a literal that means false."""
    if isinstance(value, str):
        return "".join(value).strip().lower() in _FALSE_WORDS
    return isinstance(value, int) and value == 0  # False, or a 0 that Ansible has tagged


def left_open(thing: Any) -> bool:
    """Whether the effective `no_log` of a play, role or task is unset or provably false."""
    # No truth test here: that of a vault value decrypts it.
    value = thing.no_log
    return value is None or provably_open(value)


def is_hidden(task: Any, play: Any) -> bool:
    """Nearest `no_log` as written, of task, blocks, includes, roles and play.

    Stricter than Ansible: it also inherits from a dynamic include, and an expression hides.
    """
    if not left_open(task):
        return True
    roles: list[Any] = []
    node = task
    while node is not None:
        given, value = source_value(node, "no_log")
        if given:
            return not provably_open(value)
        role = getattr(node, "_role", None)
        if role is not None and role not in roles:
            roles.append(role)
        node = getattr(node, "_parent", None)
    for role in roles:  # grows while it is read: the parents of a role follow it
        if not left_open(role):
            return True
        roles.extend(above for above in role._parents if above not in roles)
    return play_hidden(play)


def play_hidden(play: Any) -> bool:
    given, value = source_value(play, "no_log")
    return (given and not provably_open(value)) or not left_open(play)


def place_of(task: Any) -> list[str | int] | None:
    origin = Origin.get_tag(getattr(task, "_ds", None))
    path = plain_text(getattr(origin, "path", None))
    line = getattr(origin, "line_num", None)
    if path is None or len(path) > MAX_PATH or not isinstance(line, int) or line < 1:
        return None
    return [path, int(line)]
