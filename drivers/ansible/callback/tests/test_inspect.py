# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inspector answers for good and broken input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from launch import inspect

GOOD = "[web]\nweb-1 ansible_host=10.0.0.1 ansible_port=2222\nweb-2\n[db]\ndb-1\n"
PLAY = {"name": "Do it", "hosts": "web", "gather_facts": False}


def project(folder: Path, inventory: str = GOOD, name: str = "hosts.ini", **play: Any) -> Path:
    (folder / name).write_text(inventory)
    tasks = [{"name": "Say", "ansible.builtin.debug": {"msg": "x"}}]
    book = json.dumps([{**PLAY, "tasks": tasks, **play}])
    # The comment makes it YAML: Ansible keeps no line numbers of JSON.
    (folder / "site.yml").write_text(f"# a playbook\n{book}\n")
    return folder


def ask(folder: Path, **config: Any) -> Any:
    return inspect(folder, **{"playbook": "site.yml", "inventory": ["hosts.ini"], **config})


def test_a_good_project(tmp_path: Path) -> None:
    answer = ask(project(tmp_path, strategy="free", serial=1, become=True))
    assert answer["ok"] and answer["ansible"] == "2.19.11"
    assert [host["name"] for host in answer["hosts"]] == ["web-1", "web-2", "db-1"]
    assert answer["hosts"][0] == {
        "name": "web-1",
        "groups": ["all", "web"],
        "address": "10.0.0.1",
        "port": 2222,
        "connection": None,
        "host_key_checking_disabled": False,
        "ssh_args": False,
    }
    assert answer["selected"] == ["web-1", "web-2", "db-1"]
    assert answer["plays"] == [
        {
            "hosts_pattern": "web",
            "matched": ["web-1", "web-2"],
            "name": "Do it",
            "vars_prompt": False,
            "strategy": "free",
            "serial": True,
            "connection": None,
            "become": True,
        }
    ]
    assert (answer["roles"], answer["findings"], answer["secret_like_variables"]) == ([], [], [])


def test_limit_and_hosts(tmp_path: Path) -> None:
    project(tmp_path)
    assert ask(tmp_path, limit="web:!web-2")["selected"] == ["web-1"]
    assert ask(tmp_path, hosts=["db-1", "web-2"])["selected"] == ["web-2", "db-1"]
    for limit in ("zz*", "web:!web", "web-1:zz", "@hosts.ini"):
        assert ask(tmp_path, limit=limit)["code"] == "limit_no_match"
    answer = ask(tmp_path, hosts=["web-1", "zz", "localhost"])
    assert (answer["code"], answer["names"]) == ("host_unknown", ["localhost", "zz"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hosts.ini", "[web]\nweb-1\n[web:children]\nnobody\n"),
        ("hosts.ini", "[web\nweb-1\n"),
        ("hosts.json", '{"web": {"hosts": {"web-1": {}, "web-[2": {}, "web-3": {}}}}'),
        ("hosts.json", '{"web": {"hosts": {"web-1": {}, "web-1": {"x": 1}}}}'),
        ("hosts.json", '{"web": {"hosts": {"web-1": {}'),
        ("hosts.yml", "web:\n  hosts:\n    web-1:\n  shape: [1]\n"),
        ("hosts.yml", "web:\n  hosts:\n    web-1:\n    web-1:\n      x: 1\n"),
        ("hosts.yml", "web: [1]\n"),
        ("hosts.yml", "plugin: ansible.builtin.generator\n"),
        ("hosts.yml", ""),
        ("hosts", '{"web": {"hosts": '),
    ],
)
def test_unreadable_inventory(tmp_path: Path, name: str, text: str) -> None:
    project(tmp_path, text, name)
    answer = ask(tmp_path, inventory=[name], playbook=None)
    assert (answer["ok"], answer["code"]) == (False, "inventory_unreadable")


def test_one_broken_source_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "10-good.ini").write_text(GOOD)
    (folder / "20-bad.yml").write_text("all:\n  hosts:\n   - wrong\n  shape: [\n")
    answer = inspect(tmp_path, inventory=["mixed"])
    assert answer["code"] == "inventory_unreadable"
    assert answer["at"][0].endswith("20-bad.yml")
    answer = inspect(tmp_path, inventory=["none.ini"])
    assert (answer["code"], answer["names"]) == ("inventory_unreadable", ["none.ini"])


def test_empty_inventory(tmp_path: Path) -> None:
    project(tmp_path, "# nobody\n")
    assert ask(tmp_path)["code"] == "inventory_empty"
    assert ask(tmp_path, inventory=[])["code"] == "inventory_empty"


def test_a_script_is_never_run(tmp_path: Path) -> None:
    script = tmp_path / "hosts.sh"
    script.write_text("#!/bin/sh\ntouch ran\necho '{}'\n")
    script.chmod(0o755)
    assert inspect(tmp_path, inventory=["hosts.sh"])["code"] == "inventory_unreadable"
    assert not (tmp_path / "ran").exists()


def test_broken_playbooks(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "site.yml").write_text("- hosts: web\n  tasks:\n    - debug: [\n")
    answer = ask(tmp_path)
    assert answer["code"] == "playbook_syntax"
    assert answer["at"][0].endswith("site.yml") and answer["at"][1] >= 3
    assert ask(tmp_path, playbook="zz.yml")["code"] == "playbook_not_found"


@pytest.mark.parametrize(
    ("play", "code", "names"),
    [
        ({"roles": ["zz_role"]}, "role_missing", ["zz_role"]),
        ({"roles": ["zz.zz.role"]}, "collection_missing", ["zz.zz"]),
        ({"tasks": [{"zz.zz.mod": {}}]}, "collection_missing", ["zz.zz"]),
        ({"tasks": [{"zz_mod": {}}]}, "module_missing", ["zz_mod"]),
        ({"tasks": [{"ansible.builtin.zz": {}}]}, "module_missing", ["ansible.builtin.zz"]),
        ({"vars_prompt": [{"name": "pin"}]}, "vars_prompt_unsupported", ["pin"]),
        ({"tasks": [{"debug": {}, "zz": 1}]}, "playbook_syntax", []),
    ],
)
def test_refused_plays(tmp_path: Path, play: dict[str, Any], code: str, names: list[str]) -> None:
    answer = ask(project(tmp_path, **play))
    assert (answer["code"], answer["names"]) == (code, names)


def test_supplied_prompt_open_pattern_and_no_match(tmp_path: Path) -> None:
    prompt = [{"name": "pin"}]
    answer = ask(project(tmp_path, vars_prompt=prompt, hosts="zz"), extra_vars_names=["pin"])
    assert answer["plays"][0]["vars_prompt"] is True
    assert [finding["code"] for finding in answer["findings"]] == ["no_hosts_matched"]
    answer = ask(project(tmp_path, hosts="{{ where }}"), extra_vars_names=["where"])
    assert answer["findings"][0]["code"] == "hosts_pattern_unresolved"
    assert answer["findings"][0]["at"][1] == 2


def test_lookups_are_not_run(tmp_path: Path) -> None:
    answer = ask(project(tmp_path, hosts="{{ lookup('pipe', 'touch ran; echo web') }}"))
    assert answer["findings"][0]["code"] == "hosts_pattern_unresolved"
    assert not (tmp_path / "ran").exists()


def test_plugins_beside_the_project_are_not_loaded(tmp_path: Path) -> None:
    project(tmp_path)
    for kind in ("vars_plugins", "inventory_plugins", "callback_plugins", "action_plugins"):
        (tmp_path / kind).mkdir()
        source = f"open({str(tmp_path / 'ran')!r}, 'a').write({kind!r})\n"
        for name in ("spy.py", "ini.py", "host_group_vars.py", "debug.py"):
            (tmp_path / kind / name).write_text(source)
    assert ask(tmp_path)["ok"]
    assert not (tmp_path / "ran").exists()


def test_variables_are_told_by_name_only(tmp_path: Path) -> None:
    text = "[web]\nweb-1 ansible_password=Quince-52 ansible_ssh_common_args='-o ProxyCommand=x'\n"
    text += "web-2 ansible_host='{{ pick }}' ansible_host_key_checking=false\n"
    project(tmp_path, text)
    (tmp_path / "group_vars").mkdir()
    vault = "!vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n"
    (tmp_path / "group_vars" / "web.yml").write_text(
        "api_token: Medlar-19\nkey_file: /x\npass_count: 3\ndeep: {db_password: Medlar-19}\n"
        f"good_password: '{{{{ vaulted }}}}'\nvault_password: {vault}"
    )
    answer = ask(tmp_path)
    assert answer["secret_like_variables"] == ["ansible_password", "api_token", "deep.db_password"]
    assert [host["ssh_args"] for host in answer["hosts"]] == [True, False]
    assert [host["address"] for host in answer["hosts"]] == ["web-1", None]
    assert [host["host_key_checking_disabled"] for host in answer["hosts"]] == [False, True]
    assert "Quince" not in json.dumps(answer) and "Medlar" not in json.dumps(answer)


def test_a_vaulted_file_needs_its_password(tmp_path: Path) -> None:
    project(tmp_path, vars_files=["secret.yml"])
    (tmp_path / "secret.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    assert ask(tmp_path)["code"] == "vault_password_missing"


def test_roles() -> None:
    assert inspect("names", role="depot", inventory=[])["roles"] == ["depot"]
    answer = inspect("names", role="zz", inventory=[])
    assert (answer["code"], answer["names"]) == ("role_missing", ["zz"])
    answer = inspect("names", role="zz.zz.role", inventory=[])
    assert (answer["code"], answer["names"]) == ("collection_missing", ["zz.zz"])
    answer = inspect("names", playbook="site.yml", inventory=["hosts.ini"])
    assert answer["roles"] == ["depot"] and answer["plays"][0]["name"] is None
