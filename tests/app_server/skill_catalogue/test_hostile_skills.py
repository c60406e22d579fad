"""Tests of repositories of skills that attack the app server or the agents: they are refused with reasons."""

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from app_server.marketplaces import fetching
from tests.app_server.conversations.conftest import git
from tests.app_server.problems import assert_problem
from tests.app_server.skill_catalogue.publishing import (
    INSTALLED,
    SKILLS,
    detail,
    get,
    install,
    publish,
    register,
    skill,
)
from tests.support.git_host import GitHost

HOSTILE = {
    "big/SKILL.md": (skill("big", "x" * 65_536), "is too large: over 64 KiB"),
    "hooked/SKILL.md": (skill("hooked"), "lies beside hooks, which only a plugin may have"),
    "hooked/hooks/hooks.json": ("{}", None),
    "hooking/SKILL.md": (skill("hooking", hooks="[rm]"), "has hooks, which only a plugin may have"),
    "one/SKILL.md": (skill("twin"), "one/SKILL.md, two/SKILL.md have the same name twin"),
    "two/SKILL.md": (skill("twin"), None),
    "up/SKILL.md": (skill("../../up"), "has no usable name"),
    "mute/SKILL.md": ("---\nname: mute\n---\nx", "has no description"),
    "broken/SKILL.md": ("---\n[\n---\nx", "has front matter that is not valid YAML"),
    "half/SKILL.md": (
        '---\ndescription: "\\uD800"\n---\nx',
        "has a description with characters that are not visible",
    ),
    "long/SKILL.md": (skill("long", more="x" * 4096), "has front matter of more than 4096 characters"),
    "zero/SKILL.md": (skill("zero", "a\0"), "zero/SKILL.md has characters that are not visible to a reader"),
    "/".join(["d" * 200] * 5) + "/SKILL.md": (skill("deep"), None),
    "hidden/SKILL.md": (skill("hidden", "a\U000e0041"), "has characters that are not visible to a reader"),
}


async def test_hostile_skills_are_refused_with_reasons(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    top = tmp_path / "work"
    publish(
        host, top, {"good/SKILL.md": skill("good"), **{name: text for name, (text, _) in HOSTILE.items()}}
    )
    (top / "latin").mkdir()
    (top / "latin/SKILL.md").write_bytes(b"---\ndescription: \xe9\n---\n")
    strange = top / os.fsdecode(b"\xff")
    strange.mkdir()
    (strange / "SKILL.md").write_text(skill("strange"))
    (top / "linked").mkdir()
    (top / "linked/SKILL.md").symlink_to("/etc/passwd")
    (top / "directory").symlink_to("/etc")
    git(top, "add", "-A")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},submodule")
    git(top, "commit", "-q", "-m", "Hostile")
    git(top, "push", "-q", "--force", str(host.bare("team/skills")), "HEAD:main")
    await register(client, host)

    (read,) = (await client.post(f"{SKILLS}/catalogue/read")).json()

    wanted = [f"{name} {why}" if name not in why else why for name, (_, why) in HOSTILE.items() if why]
    wanted += [
        "latin/SKILL.md is not UTF-8 text",
        "ddd… has a path with unusual characters or more than 1000 characters",
        r"'\udcff/SKILL.md' has a path with unusual characters",
        "linked/SKILL.md is a link",
        "directory is a link",
        "submodule is a submodule or an empty directory",
    ]
    for words in wanted:
        assert sum(words in one for one in read["problems"]) == 1, (words, read["problems"])
    assert read["skill_count"] == 1
    refused = await client.post(INSTALLED, json={"name": "twin", "marketplace": "ours"})
    assert "have the same name twin" in detail(refused, "skill_refused")
    assert (await client.post(INSTALLED, json={"name": "good", "marketplace": "ours"})).status_code == 201


@pytest.mark.parametrize("name", ["..", ".git"])
async def test_a_repository_with_a_path_that_leads_out_is_refused(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path, name: str
) -> None:
    publish(host, tmp_path / "work", {"knots/SKILL.md": skill("knots")})
    _add_directory(host.bare("team/skills"), name)
    await register(client, host)

    (read,) = (await client.post(f"{SKILLS}/catalogue/read")).json()

    assert read["problems"] == [f"git archive failed: error: invalid path '{name}/SKILL.md'."]


def _add_directory(bare: Path, name: str) -> None:
    """Commits a copy of the directory of the skill "knots" under this name, which git itself refuses to
    create.
    """
    file = bare / "tree"
    entries = {name: git(bare, "rev-parse", "main:knots"), "knots": git(bare, "rev-parse", "main:knots")}
    file.write_bytes(
        b"".join(f"40000 {each}\0".encode() + bytes.fromhex(sha) for each, sha in entries.items())
    )
    tree = git(bare, "hash-object", "-t", "tree", "-w", "--literally", str(file))
    git(bare, "update-ref", "refs/heads/main", git(bare, "commit-tree", "-m", "Evil", tree))


async def test_a_repository_with_too_many_files_is_refused_and_none_of_its_hooks_run(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    publish(
        host,
        tmp_path / "work",
        {
            "knots/SKILL.md": skill("knots"),
            ".gitattributes": "* filter=evil\n",
            ".githooks/post-checkout": f"#!/bin/sh\ntouch {mark}\n",
            ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {mark}"\n',
        },
    )
    place = {"name": "knots", "source": host.url("team/skills")}
    assert (await client.post(INSTALLED, json=place)).status_code == 201
    assert not mark.exists()

    monkeypatch.setattr(fetching, "MAX_FILES", 3)
    refused = await client.post(INSTALLED, json={**place, "is_for_everyone": True})
    assert "It has more than 3 files" in detail(refused, "skill_repository_unreadable")


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "file:///etc"},
        {"source": "ext::sh -c id"},
        {"source": "https://me:token@acme.dev/x.git"},
        {"source": "github:acme/x", "ref": "--upload-pack=x"},
        {"source": "github:acme/x", "repo_path": "../x"},
        {"source": "github:acme/x", "marketplace": "ours"},
        {"repo_path": "x"},
        {"more": 1},
    ],
)
async def test_a_wrong_place_is_refused(client: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    assert_problem(await client.post(INSTALLED, json={"name": "x", **wrong}), 422, "validation_failed")


async def test_a_list_that_contains_itself_many_times_is_not_written_out(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    doubling = ["a: &a0 [x]"] + [f"b{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    endless = "\n".join(["---", *doubling, "description: d", "triggers: *a59", "---", "x"])
    publish(host, tmp_path / "work", {"endless/SKILL.md": endless})
    await install(client, "endless", source=host.url("team/skills"))

    assert [one["triggers"] for one in (await get(client, "search"))["items"]] == [None]
