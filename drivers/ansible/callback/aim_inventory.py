# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads an inventory strictly and tells facts about its hosts, never values."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.plugins.loader import inventory_loader

from aim_faults import Refusal, WarningLog, fault_place

_YAML_ENDS: Final = (".yml", ".yaml", ".json")
# Warnings after which all the inventory is still there.
_HARMLESS: Final = re.compile(
    r"^(?:found both group and host with same name|invalid characters were found in group names"
    r"|provided hosts list is empty|a duplicate localhost-like entry was found)",
    re.IGNORECASE,
)
_MARKERS: Final = ("{{", "{%", "{#")
_SSH_ARGS: Final = (
    "ansible_ssh_args",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_scp_extra_args",
    "ansible_sftp_extra_args",
    "ansible_ssh_executable",
    "ansible_scp_executable",
    "ansible_sftp_executable",
)
_CHECKING: Final = ("ansible_host_key_checking", "ansible_ssh_host_key_checking")
_UNCHECKED: Final = re.compile(
    r"stricthostkeychecking[ =]+(?:no|off|accept-new)|(?:user|global)knownhostsfile[ =]+/dev/null"
    r"|nohostauthenticationforlocalhost[ =]+yes",
    re.IGNORECASE,
)
_TRUE_WORDS: Final = ("true", "yes", "on", "y", "t", "1")
_CREDENTIAL: Final = re.compile(
    r"passw(?:or)?d|passphrase|(?:^|_)pass(?:$|_)|secret|token|credential"
    r"|(?:api|access|private|signing|encryption|ssh)_?key$|private_key|connection_string",
    re.IGNORECASE,
)
_NOT_CREDENTIAL: Final = re.compile(
    r"_(?:file|path|dir|name|id|url|uri|length|len|ttl|type|policy|min|max|age|days|mode|enabled|count"
    r"|method|hash_algo|prompt|prompt_re|mechanism)$",
    re.IGNORECASE,
)
_MAX_DEPTH: Final = 4


class StrictInventory(InventoryManager):  # type: ignore[misc]  # Ansible has no type stubs
    """Ansible's manager with one plugin for each shape of source.

    Ansible tries the next plugin when one fails, so that a broken JSON or YAML file can still
    "parse" as INI, with its punctuation as hosts and the rest of its hosts gone.
    """

    def __init__(self, loader: Any, sources: Sequence[str], log: WarningLog) -> None:
        self._log = log
        super().__init__(loader=loader, sources=list(sources), parse=bool(sources))

    def parse_source(self, source: str, cache: bool = False) -> bool:
        try:
            return bool(super().parse_source(source, cache=cache))
        except (AnsibleError, OSError, UnicodeError) as fault:
            told = [place for _, place in self._log.take() if place]
            place = fault_place(fault) or next(iter(told), None)
            raise Refusal("inventory_unreadable", place, [source]) from None

    def _fetch_inventory_plugins(self) -> list[Any]:
        plugins = [inventory_loader.get(name) for name in _plugins(self._inventory.current_source)]
        if None in plugins:
            raise AnsibleError("inventory plugin")
        return plugins


def _plugins(source: str) -> tuple[str, ...]:
    if "," in source:
        return ("ansible.builtin.host_list",)
    if source.endswith(_YAML_ENDS):
        return ("ansible.builtin.yaml",)
    if os.path.splitext(source)[1]:
        return ("ansible.builtin.ini",)
    with open(source, "rb") as text:
        head = text.read(4096).lstrip()
    if head.startswith((b"{", b"---", b"all:")):
        return ("ansible.builtin.yaml",)
    return ("ansible.builtin.ini",)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise KeyError
    return found


def _refuse_double_keys(source: str) -> None:
    """Ansible reads JSON with the last of two equal keys and says nothing."""
    with open(source, "rb") as text:
        data = text.read()
    try:
        json.loads(data, object_pairs_hook=_unique)
    except KeyError:
        raise Refusal("inventory_unreadable", [source, 1]) from None
    except (ValueError, RecursionError):
        return  # not JSON: YAML reports its own double keys


def _files(source: str) -> Iterator[str]:
    if os.path.isdir(source):
        for folder, _, names in os.walk(source):
            yield from (os.path.join(folder, name) for name in sorted(names))
    else:
        yield source


def read_inventory(loader: Any, sources: Sequence[str], log: WarningLog) -> Any:
    for source in sources:
        if "," in source:
            continue
        if not os.path.exists(source):
            raise Refusal("inventory_unreadable", None, [source])
        for path in _files(source):
            if path.endswith(_YAML_ENDS):
                _refuse_double_keys(path)
    try:
        inventory = StrictInventory(loader, sources, log)
    except (AnsibleError, OSError, UnicodeError) as fault:
        raise Refusal("inventory_unreadable", fault_place(fault)) from None
    refuse_dropped(log)
    return inventory


def refuse_dropped(log: WarningLog) -> None:
    """Refuse when a warning says that a part of the inventory was left out."""
    for text, place in log.take():
        if not _HARMLESS.match(text):
            raise Refusal("inventory_unreadable", place)


def limited(inventory: Any, limit: str, log: WarningLog) -> list[str]:
    log.take()
    try:
        if "@" in limit:  # a limit may name a file to read
            raise Refusal("limit_no_match")
        inventory.subset(limit)
        names = [str(host.name) for host in inventory.get_hosts("all")]
    except AnsibleError:
        raise Refusal("limit_no_match") from None
    finally:
        inventory.subset(None)
    if not names or log.take():
        raise Refusal("limit_no_match")
    return names


def is_plain(value: object) -> bool:
    return isinstance(value, str) and not any(marker in value for marker in _MARKERS)


def _plain(values: Mapping[str, Any], *keys: str) -> str | None:
    value = next((values[key] for key in keys if key in values), None)
    return "".join(value) if isinstance(value, str) and is_plain(value) else None


def _port(values: Mapping[str, Any]) -> int | None:
    value = values.get("ansible_port", values.get("ansible_ssh_port"))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 5:
        value = int(value)
    return int(value) if _is_number(value) and 0 < value < 65_536 else None


def _unchecked(values: Mapping[str, Any]) -> bool:
    """Whether host key checks may be off. A value that cannot be read counts as off."""
    for key in _CHECKING:
        value = values.get(key, True)
        if value is not True and str_lower(value) not in _TRUE_WORDS:
            return True
    texts = (values[key] for key in _SSH_ARGS if key in values)
    return any(not is_plain(text) or _UNCHECKED.search(text) for text in texts)


def str_lower(value: object) -> str:
    if isinstance(value, str):
        return "".join(value).strip().lower()
    return "1" if isinstance(value, int) and value == 1 else ""


def host_facts(host: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    name = str(host.name)
    given = "ansible_host" in values or "ansible_ssh_host" in values
    return {
        "name": name,
        "groups": sorted(str(group.name) for group in host.get_groups()),
        "address": _plain(values, "ansible_host", "ansible_ssh_host") if given else name,
        "port": _port(values),
        "connection": _plain(values, "ansible_connection"),
        "host_key_checking_disabled": _unchecked(values),
        "ssh_args": any(key in values for key in _SSH_ARGS),
    }


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_credential_name(name: str) -> bool:
    return bool(_CREDENTIAL.search(name)) and not _NOT_CREDENTIAL.search(name)


def _credentials(values: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[str]:
    for key, value in values.items():
        if not isinstance(key, str):
            continue
        name = prefix + "".join(key)
        if isinstance(value, Mapping) and depth < _MAX_DEPTH:
            yield from _credentials(value, f"{name}.", depth + 1)
        elif _is_credential_name(key) and (
            _is_number(value) or (is_plain(value) and len(value) > 0)
        ):  # the type comes first: comparing a vault value decrypts it
            yield name


def secret_like(all_values: Iterable[Mapping[str, Any]]) -> list[str]:
    found: set[str] = set()
    for values in all_values:
        found.update(_credentials(values, "", 0))
    return sorted(found)
