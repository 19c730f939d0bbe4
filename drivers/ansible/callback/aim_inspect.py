# SPDX-License-Identifier: GPL-3.0-or-later
"""Inspector: what a playbook, a role and an inventory are, found without contacting anything.

    python -I aim_inspect.py --out-fd N --config-fd M

Writes one JSON object. Every value in it is a name, a position, a flag or a closed code.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

_HERE: Final = os.path.dirname(os.path.realpath(__file__))
_MAX_CONFIG: Final = 16 * 1024 * 1024
# Read by Ansible while it is imported, so they must stand before.
_ENVIRONMENT: Final = {
    "ANSIBLE_INVENTORY_ENABLED": "ansible.builtin.host_list,ansible.builtin.yaml,"
    "ansible.builtin.ini",
    "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
    "ANSIBLE_INVENTORY_UNPARSED_FAILED": "1",
    "ANSIBLE_VARS_ENABLED": "ansible.builtin.host_group_vars",
    "ANSIBLE_VARS_PLUGINS": os.devnull,
    "ANSIBLE_INVENTORY_PLUGINS": os.devnull,
    "ANSIBLE_CACHE_PLUGIN": "memory",
    "ANSIBLE_NOCOLOR": "1",
    "ANSIBLE_DUPLICATE_YAML_DICT_KEY": "warn",
}


_VAULT_HEADER: Final = b"$ANSIBLE_VAULT;"
_VARIABLE_FOLDERS: Final = frozenset(("group_vars", "host_vars", "vars", "defaults"))


class Request(NamedTuple):
    playbook: str | None = None
    inventory: tuple[str, ...] = ()
    limit: str | None = None
    hosts: tuple[str, ...] | None = None
    extra_vars_names: tuple[str, ...] = ()
    role: str | None = None
    # A vault password comes with the run: variables vaulted as a whole are left out of the review.
    vault: bool = False


def parse_request(value: object) -> Request:
    if not isinstance(value, dict) or not set(value) <= set(Request._fields):
        raise ValueError("config")
    for key in ("playbook", "limit", "role"):
        if not isinstance(value.get(key), str | None):
            raise ValueError(key)
    lists: dict[str, Any] = {}
    for key in ("inventory", "hosts", "extra_vars_names"):
        items = value.get(key)
        if items is not None:
            if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
                raise ValueError(key)
            lists[key] = tuple(items)
    vault = value.get("vault", False)
    if not isinstance(vault, bool):
        raise ValueError("vault")
    texts: dict[str, Any] = {key: value.get(key) for key in ("playbook", "limit", "role")}
    return Request(**texts, **lists, vault=vault)


def _is_vaulted(path: str) -> bool:
    with open(path, "rb") as source:
        return source.read(len(_VAULT_HEADER)) == _VAULT_HEADER


def _holds_variables(path: str) -> bool:
    return not _VARIABLE_FOLDERS.isdisjoint(path.split(os.sep)[:-1])


class Inspection:
    """One inspection. Ansible is imported here: its settings are read at import."""

    def __init__(self, request: Request) -> None:
        from ansible import context
        from ansible.cli.playbook import PlaybookCLI
        from ansible.parsing.dataloader import DataLoader
        from ansible.parsing.vault import VaultSecretsContext
        from ansible.plugins.loader import init_plugin_loader

        from aim_faults import WarningLog

        self.request = request
        self.log = WarningLog()
        self.findings: list[dict[str, Any]] = []
        PlaybookCLI(["ansible-playbook", "--syntax-check", "none"]).parse()
        init_plugin_loader(context.CLIARGS.get("collections_path") or [])
        _forbid_foreign_code()
        VaultSecretsContext.initialize(VaultSecretsContext([]))
        self.loader = self._review_loader(DataLoader)
        self.loader.set_vault_secrets([])
        self.inventory: Any = None
        self.variables: Any = None

    def run(self) -> dict[str, Any]:
        from ansible.release import __version__

        from aim_faults import Refusal

        request = self.request
        self._check_playbook_path()
        hosts, secrets = self._read_hosts()
        names = [host["name"] for host in hosts]
        if not names and request.role is None:
            raise Refusal("inventory_empty")
        unknown = sorted(set(request.hosts or ()) - set(names))
        if unknown:
            raise Refusal("host_unknown", None, unknown)
        selected = self._selected(names)
        plays, roles = self._read_plays()
        return {
            "ok": True,
            "ansible": __version__,
            "python": platform.python_version(),
            "hosts": hosts,
            "selected": selected,
            "plays": plays,
            "roles": roles,
            "findings": self.findings,
            "secret_like_variables": secrets,
        }

    def _review_loader(self, base: Any) -> Any:
        inspection = self

        class ReviewLoader(base):  # type: ignore[misc]
            """Leaves out variables that only the run can decrypt, and says which."""

            def load_from_file(self, file_name: str, *args: Any, **kwargs: Any) -> Any:
                path = self.path_dwim(file_name)
                left_out = inspection.request.vault and _holds_variables(path)
                if left_out and os.path.isfile(path) and _is_vaulted(path):
                    finding = {"code": "vaulted_variables", "at": [path, 1]}
                    if finding not in inspection.findings:
                        inspection.findings.append(finding)
                    return {}
                return super().load_from_file(file_name, *args, **kwargs)

        return ReviewLoader()

    def _check_playbook_path(self) -> None:
        from aim_faults import Refusal

        path = self.request.playbook
        if path is not None and not os.path.isfile(path):
            raise Refusal("playbook_not_found", None, [path])

    def _read_hosts(self) -> tuple[list[dict[str, Any]], list[str]]:
        from ansible.cli import CLI
        from ansible.errors import AnsibleError
        from ansible.vars.manager import VariableManager

        from aim_faults import Refusal, refusal_of
        from aim_inventory import host_facts, read_inventory, refuse_dropped, secret_like

        if self.request.playbook is not None:
            self.loader.set_basedir(os.path.dirname(os.path.abspath(self.request.playbook)))
        self.inventory = read_inventory(self.loader, self.request.inventory, self.log)
        self.variables = VariableManager(
            loader=self.loader, inventory=self.inventory, version_info=CLI.version_info()
        )
        facts, values = [], [group.vars for group in self.inventory.groups.values()]
        for host in self.inventory.get_hosts("all"):
            try:
                found = self.variables.get_vars(host=host, include_hostvars=False)
            except AnsibleError as fault:
                refusal = refusal_of(fault)
                if refusal.code == "playbook_syntax":
                    refusal = Refusal("inventory_unreadable", refusal.at)
                raise refusal from None
            values.append(found)
            facts.append(host_facts(host, found))
        refuse_dropped(self.log)
        return facts, secret_like(values)

    def _selected(self, names: list[str]) -> list[str]:
        from aim_inventory import limited

        kept = names
        if self.request.limit is not None:
            chosen = set(limited(self.inventory, self.request.limit, self.log))
            kept = [name for name in kept if name in chosen]
        if self.request.hosts is not None:
            wanted = set(self.request.hosts)
            kept = [name for name in kept if name in wanted]
        return kept

    def _read_plays(self) -> tuple[list[dict[str, Any]], list[str]]:
        from aim_faults import Refusal, refusal_of

        try:
            plays = list(self._load_plays())
            # The play around a role is ours and tells nothing.
            facts = [self._play_facts(play) for play in plays if self.request.role is None]
            roles = sorted(set(_role_names(plays)))
        except Refusal:
            raise
        except Exception as fault:  # whatever loading raises, the playbook cannot be run
            raise refusal_of(fault) from None
        for text, place in self.log.take():
            code = "duplicate_key" if "last defined value" in text else "playbook_warning"
            if not text.startswith("Could not match supplied host pattern"):
                self.findings.append({"code": code, "at": place})
        return facts, roles

    def _load_plays(self) -> Iterator[Any]:
        from ansible.playbook import Playbook
        from ansible.playbook.play import Play

        if self.request.role is not None:
            source = {"hosts": "all", "gather_facts": False, "roles": [{"role": self.request.role}]}
            play = Play.load(source, variable_manager=self.variables, loader=self.loader)
            play.compile()
            yield play
            return
        if self.request.playbook is None:
            return
        path = os.path.abspath(self.request.playbook)
        book = Playbook.load(path, variable_manager=self.variables, loader=self.loader)
        for play in book.get_plays():
            self.loader.set_basedir(play._included_path or book._basedir)
            play.compile()
            yield play

    def _play_facts(self, play: Any) -> dict[str, Any]:
        from aim_faults import Refusal, place_of
        from aim_source import name_of, play_hidden, source_value

        at = place_of(play._ds)
        prompts = [entry.get("name") for entry in play.vars_prompt or ()]
        missing = [str(name) for name in prompts if name not in self.request.extra_vars_names]
        if missing:
            raise Refusal("vars_prompt_unsupported", at, sorted(missing))
        pattern = source_value(play, "hosts")[1]
        return {
            "hosts_pattern": _joined(pattern),
            "matched": self._matched(play, at),
            "name": name_of(play, play_hidden(play)).get("text"),
            "vars_prompt": bool(prompts),
            "strategy": _text(source_value(play, "strategy")[1]),
            "serial": source_value(play, "serial")[0],
            "connection": _text(source_value(play, "connection")[1]),
            "become": _may_be_true(source_value(play, "become")[1]),
        }

    def _matched(self, play: Any, at: Any) -> list[str]:
        from ansible._internal._templating._engine import TemplateEngine
        from ansible.errors import AnsibleError

        values = self.variables.get_vars(play=play)
        try:
            pattern = TemplateEngine(loader=self.loader, variables=values).template(play.hosts)
            matched = [str(host.name) for host in self.inventory.get_hosts(pattern)]
        except AnsibleError:
            # Extra variables are known by name only, so a pattern that uses one stays open.
            self.findings.append({"code": "hosts_pattern_unresolved", "at": at})
            return []
        if not matched:
            self.findings.append({"code": "no_hosts_matched", "at": at})
        return matched


def _forbid_foreign_code() -> None:
    """No vars or inventory plugin of a project is loaded, and no lookup runs in a template."""
    from ansible.errors import AnsibleError
    from ansible.plugins.loader import inventory_loader, lookup_loader, vars_loader

    def refuse(*_: object, **__: object) -> None:
        raise AnsibleError("lookups are not run here")

    def ignore(*_: object, **__: object) -> None:
        """A folder of plugins beside the project stays unknown."""

    for loader in (inventory_loader, vars_loader):
        loader.add_directory = ignore
    lookup_loader.get = refuse


def _text(value: object) -> str | None:
    return "".join(value) if isinstance(value, str) else None


def _joined(value: object) -> str | None:
    if isinstance(value, list):
        return ",".join(_text(item) or "" for item in value)
    return _text(value)


def _may_be_true(value: object) -> bool:
    from aim_source import provably_open

    return value is not None and not provably_open(value)


def _role_names(plays: Sequence[Any]) -> Iterator[str]:
    for play in plays:
        for role in play.get_roles():
            yield str(role.get_name())
            yield from (str(part.get_name()) for part in role.get_all_dependencies())


def inspect(request: Request) -> Mapping[str, Any]:
    from aim_faults import Refusal

    try:
        return Inspection(request).run()
    except Refusal as refusal:
        return {"ok": False, "code": refusal.code, "at": refusal.at, "names": refusal.names}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="aim_inspect", allow_abbrev=False)
    parser.add_argument("--out-fd", type=int, required=True)
    parser.add_argument("--config-fd", type=int, required=True)
    own = parser.parse_args(argv)
    with os.fdopen(own.config_fd, "rb") as source:
        request = parse_request(json.loads(source.read(_MAX_CONFIG)))
    # Ansible prints excerpts of sources; nobody may read them here.
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.environ.update(_ENVIRONMENT)
    sys.path.insert(0, _HERE)  # `-I` leaves our own folder out
    answer = json.dumps(inspect(request), separators=(",", ":"))
    with os.fdopen(own.out_fd, "wb") as out:
        out.write(answer.encode("ascii") + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
