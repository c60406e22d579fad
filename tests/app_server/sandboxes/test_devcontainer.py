"""Tests of reading devcontainer.json: which settings are used, and what is reported about the others."""

import json
import re
import time
from pathlib import Path

import pytest

from app_server.core.errors import BadRequest
from app_server.sandbox_images.custom_base import BaseSource
from app_server.sandbox_images.devcontainer import read_devcontainer


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".devcontainer").mkdir(parents=True)
    (folder / "Dockerfile").write_text("FROM debian:12\n")
    (folder / ".devcontainer" / "Dockerfile").write_text("FROM debian:12\n")
    return folder


def write(project: Path, content: object) -> Path:
    file = project / ".devcontainer" / "devcontainer.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_an_image_is_the_base_by_its_name(project: Path) -> None:
    write(project, {"image": "mcr.microsoft.com/devcontainers/python:1-3.12-bookworm"})
    found = read_devcontainer(project)

    assert found.base == "mcr.microsoft.com/devcontainers/python:1-3.12-bookworm"
    assert found.ignored == []


@pytest.mark.parametrize("begin", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_comments_and_trailing_commas_are_read_as_editors_do(begin: str, project: Path) -> None:
    write(
        project,
        begin
        + """// See https://aka.ms/devcontainer.json
        {
            "name": "A // name, with /* no */ comment,]",  /* of
            two lines */
            "build": { // its parts
                "dockerfile": "../Dockerfile",
                "context": "..",
                "args": {"URL": "https://example.org/,}", "QUOTED": "\\"//\\"",},
                "target": "tools",
            },
        }""",
    )
    found = read_devcontainer(project / ".devcontainer" / "devcontainer.json")

    assert found.base == BaseSource(
        dockerfile=project / "Dockerfile",
        context=project,
        arguments={"URL": "https://example.org/,}", "QUOTED": '"//"'},
        target="tools",
    )


@pytest.mark.parametrize(
    "content",
    [{"build": {"dockerfile": "Dockerfile"}}, {"dockerFile": "Dockerfile"}],
    ids=["as it is now", "as it was"],
)
def test_the_context_is_the_folder_of_the_file_unless_it_says_otherwise(
    content: dict[str, object], project: Path
) -> None:
    write(project, content)

    assert read_devcontainer(project).base == BaseSource(
        dockerfile=project / ".devcontainer" / "Dockerfile", context=project / ".devcontainer"
    )


def test_what_is_not_used_is_listed_with_its_reason(project: Path) -> None:
    write(
        project,
        {
            "$schema": "https://example.org",
            "name": "Tools",
            "image": "debian:12",
            "build": {"dockerfile": "Dockerfile", "cacheFrom": "x", "options": ["--privileged"]},
            "features": {"ghcr.io/devcontainers/features/go:1": {}},
            "postCreateCommand": "npm ci",
            "initializeCommand": "curl example.org | sh",
            "mounts": ["source=/,target=/host,type=bind"],
            "runArgs": ["--privileged"],
            "forwardPorts": [3000],
            "remoteUser": "root",
            "customizations": {"vscode": {}},
            "frobnicate": True,
        },
    )
    reasons = dict(
        re.fullmatch(r"(\S+) \((.+)\)", each).groups()  # type: ignore[union-attr]
        for each in read_devcontainer(project).ignored
    )

    assert reasons.keys() == {
        *("features", "postCreateCommand", "initializeCommand", "mounts", "runArgs", "forwardPorts"),
        *("remoteUser", "customizations", "frobnicate", "build.cacheFrom", "build.options", "image"),
    }
    assert "Dockerfile" in reasons["features"]
    assert ".agents/setup.sh" in reasons["postCreateCommand"]
    assert reasons["frobnicate"] == "Slipway does not know it"
    assert [name for name, reason in reasons.items() if "does not know" in reason] == ["frobnicate"]


def test_nothing_of_this_machines_environment_gets_into_an_image(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    args = {"TOKEN": "${localEnv:TOKEN:none}", "TIME": "at ${localEnv:TZ:Europe/Paris:x}"}
    write(project, {"build": {"dockerfile": "Dockerfile", "args": args}})
    found = read_devcontainer(project)

    assert isinstance(found.base, BaseSource)
    assert found.base.arguments == {"TOKEN": "none", "TIME": "at Europe/Paris:x"}
    assert [each.split()[0] for each in found.ignored] == ["${localEnv:TOKEN}", "${localEnv:TZ}"]


def test_a_context_beyond_the_project_takes_a_users_own_word(project: Path, tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("key")
    write(project, {"build": {"dockerfile": "Dockerfile", "context": "../.."}})

    with pytest.raises(BadRequest) as refused:
        read_devcontainer(project)
    assert (refused.value.code, "--context" in str(refused.value.fix)) == ("devcontainer_leads_out", True)
    assert read_devcontainer(project, tmp_path).base == BaseSource(
        dockerfile=project / ".devcontainer" / "Dockerfile", context=tmp_path
    )


def test_a_link_that_leads_out_of_the_project_is_seen_through(project: Path, tmp_path: Path) -> None:
    (project / "innocent").symlink_to(tmp_path)
    write(project, {"build": {"dockerfile": "Dockerfile", "context": "../innocent"}})

    with pytest.raises(BadRequest) as refused:
        read_devcontainer(project)
    assert refused.value.code == "devcontainer_leads_out"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"dockerComposeFile": "compose.yml", "service": "web"}, "devcontainer_compose"),
        ({"features": {}}, "devcontainer_no_image"),
        ({"build": {"dockerfile": "Containerfile"}}, "dockerfile_missing"),
        ({"build": {"dockerfile": "Dockerfile", "context": "nowhere"}}, "build_context_missing"),
        ({"image": "debian:${localEnv:RELEASE}"}, "devcontainer_variable"),
        ({"image": "${localWorkspaceFolderBasename}"}, "devcontainer_variable"),
        ({"image": "--privileged"}, "devcontainer_unreadable"),
        ({"build": {"dockerfile": "\x1b[2J"}}, "dockerfile_missing"),
        (
            {"build": {"dockerfile": "Dockerfile", "args": dict.fromkeys("abcdefgh", 7)}},
            "devcontainer_unreadable",
        ),
        ({"image": 7}, "devcontainer_unreadable"),
        ({"build": {"dockerfile": "Dockerfile", "args": {"A": "\0"}}}, "devcontainer_unreadable"),
        ({"build": {"dockerfile": "Dockerfile", "args": {"A": 1}}}, "devcontainer_unreadable"),
        ({"build": {"dockerfile": "Dockerfile", "args": {"A": "\ud800"}}}, "devcontainer_unreadable"),
        ([], "devcontainer_unreadable"),
        ('{"image": "debian:12"', "devcontainer_unreadable"),
        ('{"image": "debian:12", /* ', "devcontainer_unreadable"),
        ('{"image": "debian:12', "devcontainer_unreadable"),
        ("[" * 100_000, "devcontainer_unreadable"),
        ('"' + '\\"' * 500_000, "devcontainer_unreadable"),
        ("/*" * 500_000, "devcontainer_unreadable"),
        (" " * 1_100_000, "devcontainer_unreadable"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_used_has_a_code_a_cause_and_a_fix(content: object, code: str, project: Path) -> None:
    write(project, content)
    with pytest.raises(BadRequest) as refused:
        read_devcontainer(project)

    assert refused.value.code == code
    assert str(project) in refused.value.detail
    assert len(refused.value.detail) < 1000
    assert refused.value.detail.isprintable()
    assert refused.value.fix


def test_a_wrong_character_is_found_where_it_stands(project: Path) -> None:
    write(project, '{\n  /* a\n comment */ "image": oops\n}')
    with pytest.raises(BadRequest, match="line 3 column 22"):
        read_devcontainer(project)


def test_a_folder_without_one_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadRequest) as refused:
        read_devcontainer(tmp_path)
    assert refused.value.code == "devcontainer_missing"


def test_names_of_a_repository_do_not_steer_the_terminal(project: Path) -> None:
    write(project, {"image": "debian:12", "\x1b[2J": 1, "x" * 5000: 1})

    for each in read_devcontainer(project).ignored:
        assert each.isprintable()
        assert len(each) < 400


def test_a_file_that_is_a_link_to_another_project_is_not_followed(project: Path, tmp_path: Path) -> None:
    private = tmp_path / "private"
    (private / ".git").mkdir(parents=True)
    (private / "Dockerfile").write_text("FROM debian:12\n")
    (private / ".devcontainer.json").write_text('{"build": {"dockerfile": "Dockerfile"}}')
    (project / ".devcontainer" / "devcontainer.json").symlink_to(private / ".devcontainer.json")

    with pytest.raises(BadRequest) as refused:
        read_devcontainer(project)
    assert refused.value.code == "devcontainer_leads_out"


def test_what_would_build_is_not_used_without_a_dockerfile(project: Path) -> None:
    write(project, {"image": "debian:12", "build": {"args": {"A": "1"}}})
    found = read_devcontainer(project)

    assert found.base == "debian:12"
    assert found.ignored == ["build (it names no Dockerfile)"]


def test_many_variables_without_an_end_do_not_take_long(project: Path) -> None:
    value = "${" * 100_000
    write(project, {"build": {"dockerfile": "Dockerfile", "args": {"X": "${localEnv:A:b}" + value}}})
    begun = time.perf_counter()

    found = read_devcontainer(project)

    assert time.perf_counter() - begun < 2
    assert isinstance(found.base, BaseSource)
    assert found.base.arguments == {"X": f"b{value}"}
