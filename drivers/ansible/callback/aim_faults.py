# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusals of the inspector: closed codes with a source position, never the text of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ansible._internal._datatag._tags import Origin
from ansible.errors import AnsibleError
from ansible.utils.collection_loader._collection_finder import _get_collection_metadata
from ansible.utils.display import Display

Place = list[str | int] | None

_ROLE: Final = re.compile(r"the role '([^'\n]{1,255})' was not found")
_MODULE: Final = re.compile(r"couldn't resolve module/action '([^'\n]{1,255})'")
_COLLECTION: Final = re.compile(r"unable to locate collection ([A-Za-z0-9_.]{1,255})")
_FQCN: Final = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*\.[A-Za-z_][\w.]*")
_VAULT: Final = re.compile(
    r"no vault secrets|a vault password must be specified|vault password", re.IGNORECASE
)
_MAX_CHAIN: Final = 8


class Refusal(Exception):
    """The inspected input cannot be run as it is."""

    def __init__(self, code: str, at: Place = None, names: list[str] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.at = at
        self.names = names or []


def place_of(thing: object) -> Place:
    origin = thing if isinstance(thing, Origin) else Origin.get_tag(thing)
    path, line = getattr(origin, "path", None), getattr(origin, "line_num", None)
    if not isinstance(path, str) or not isinstance(line, int) or line < 1:
        return None
    return ["".join(path), int(line)]


def _chain(fault: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = fault
    for _ in range(_MAX_CHAIN):
        if current is None:
            return
        yield current
        current = current.__cause__ or current.__context__


def fault_place(fault: BaseException) -> Place:
    """The innermost position: the outer ones name the file that includes the broken one."""
    found: Place = None
    for part in _chain(fault):
        found = place_of(getattr(part, "obj", None)) or found
    return found


def collection_installed(name: str) -> bool:
    try:
        _get_collection_metadata(name)
    except (ValueError, ImportError):
        return False
    return True


def _named(name: str, code: str, at: Place) -> Refusal:
    if _FQCN.fullmatch(name):
        collection = ".".join(name.split(".")[:2])
        if not collection_installed(collection):
            return Refusal("collection_missing", at, [collection])
    return Refusal(code, at, [name])


def refusal_of(fault: BaseException) -> Refusal:
    """The code for an error that Ansible raised while it loaded a playbook or role."""
    at = fault_place(fault)
    text = "\n".join(
        part.message if isinstance(part, AnsibleError) else str(part) for part in _chain(fault)
    )
    if _VAULT.search(text):
        return Refusal("vault_password_missing", at)
    if found := _ROLE.search(text):
        return _named(found[1], "role_missing", at)
    if found := _MODULE.search(text):
        return _named(found[1], "module_missing", at)
    if found := _COLLECTION.search(text):
        return Refusal("collection_missing", at, [found[1]])
    return Refusal("playbook_syntax", at)


class WarningLog:
    """Takes what Ansible would print. Texts are only matched here and never leave."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Place]] = []
        display = Display()
        display.warning = self._warning
        display.error_as_warning = self._error
        display.deprecated = self._ignored

    def _warning(self, msg: str, *_: object, obj: Any = None, **__: object) -> None:
        self.seen.append((str(msg), place_of(obj)))

    def _error(self, msg: str | None, exception: BaseException, **_: object) -> None:
        self.seen.append((str(msg), fault_place(exception)))

    def _ignored(self, *_: object, **__: object) -> None:
        """A deprecation drops nothing."""

    def take(self) -> list[tuple[str, Place]]:
        taken, self.seen = self.seen, []
        return taken
