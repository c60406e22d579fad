"""Tests of which skills are found in a project, which of them take precedence, and why a file is left out."""

from pathlib import Path
from typing import Any

import pytest

from agent_runtime.context.discover import discover
from agent_runtime.context.skills import AgentContext, ProjectContext
from agent_runtime.workspace.front_matter import MAX_FILE_BYTES

ZEBRA = "---\nname: zebra\ntriggers:\n  - zebra\n  - '/stripes'\n---\nZebras have stripes."


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def project(working_dir: Path, **fields: Any) -> ProjectContext:
    return discover(AgentContext(load_project_skills=True, **fields), working_dir)


def why(context: ProjectContext, name: str) -> tuple[bool, str]:
    """Returns whether the file whose path ends with `name` was loaded, and the reason that is given."""
    return next((one.is_loaded, one.reason) for one in context.findings if one.path.endswith(name))


def test_what_a_client_sends_comes_before_the_projects_own(tmp_path: Path):
    write(tmp_path, {".openhands/skills/zebra.md": ZEBRA})
    sent = {"name": "zebra", "content": "Ours.", "trigger": {"type": "keyword", "keywords": ["z"]}}

    found = project(tmp_path, skills=[sent])

    assert [skill.content for skill in found.skills] == ["Ours."]
    assert why(found, "zebra.md") == (False, "the client has the same name and comes first")


def test_newer_places_come_before_older_ones(tmp_path: Path):
    write(tmp_path, {".openhands/microagents/a.md": "old", ".openhands/skills/a.md": "new"})

    found = project(tmp_path)

    assert [skill.content for skill in found.skills] == ["new"]
    assert "comes first" in why(found, "microagents/a.md")[1]


def test_a_directory_below_the_repositorys_root_gets_the_roots_instructions_too(tmp_path: Path):
    write(tmp_path, {".git/HEAD": "", "AGENTS.md": "Root.", "app/AGENTS.md": "App.", "app/CLAUDE.md": "App."})

    found = project(tmp_path / "app")

    assert [skill.content for skill in found.skills] == ["App.", "Root."]
    assert "same text" in why(found, "app/CLAUDE.md")[1]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("---\ntriggers: [\n---\nx", "not valid YAML"),
        ("---\ntriggers: 3\n---\nx", "not a list"),
        ("---\n- a\n---\nx", "not a list of fields"),
        ("", "empty"),
        ("x" * (MAX_FILE_BYTES + 1), "larger than 64 KiB"),
        ("\ud800", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_and_hides_no_other(tmp_path: Path, content: str, reason: str):
    write(tmp_path, {".agents/skills/good.md": "Good."})
    (tmp_path / ".agents/skills/bad.md").write_bytes(content.encode(errors="surrogatepass"))

    found = project(tmp_path)

    is_loaded, stated = why(found, "bad.md")
    assert not is_loaded
    assert reason in stated
    assert [skill.name for skill in found.skills] == ["good"]


def test_a_skill_without_description_a_readme_and_a_disabled_one_are_left_out(tmp_path: Path):
    write(
        tmp_path,
        {
            ".agents/skills/a/SKILL.md": "No matter.",
            ".agents/skills/README.md": "Hi.",
            ".agents/skills/b.md": "B.",
        },
    )

    found = project(tmp_path, disabled_skills=["b"])

    assert found.skills == ()
    assert "description" in why(found, "SKILL.md")[1]
    assert "for people" in why(found, "README.md")[1]
    assert "disabled" in why(found, "b.md")[1]


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path):
    (tmp_path / "secret").write_text("Secret.")
    inside = write(tmp_path / "project", {"x": ""})
    (inside / "AGENTS.md").symlink_to(tmp_path / "secret")

    found = project(inside)

    assert found.skills == ()
    assert "leads out of the project" in why(found, "AGENTS.md")[1]


def test_the_users_own_skills_come_last(tmp_path: Path):
    home = write(tmp_path / "home", {".agents/skills/a.md": "Mine.", ".agents/skills/b.md": "Mine too."})
    write(tmp_path / "work", {".agents/skills/a.md": "Theirs."})
    asked = AgentContext(load_project_skills=True, load_user_skills=True)

    found = discover(asked, tmp_path / "work", home=home)

    assert {skill.name: skill.content for skill in found.skills} == {"a": "Theirs.", "b": "Mine too."}


def test_generated_directories_are_not_searched(tmp_path: Path):
    write(tmp_path, {"node_modules/x/AGENTS.md": "x", ".venv/AGENTS.md": "x", "src/AGENTS.md": "Here."})

    assert [skill.name for skill in project(tmp_path).skills] == ["src/AGENTS.md"]


def sent(origin: str, **files: str) -> list[dict[str, str]]:
    return [{"origin": origin, "path": f"{origin}/{name}.md", "text": text} for name, text in files.items()]


def test_one_order_holds_for_all_origins(tmp_path: Path):
    home = write(tmp_path / "home", {".agents/skills/c.md": "home", ".agents/skills/d.md": "home"})
    write(tmp_path / "work", {".agents/skills/b.md": "project"})
    files = [
        *sent("public", a="public", b="public", c="public", d="public", e="public", f="public"),
        *sent("organisation", b="organisation", c="organisation", e="organisation"),
        *sent("user", b="user", c="user"),
    ]
    asked = AgentContext(
        skills=[{"name": "a", "content": "client"}],
        skill_files=files,
        load_project_skills=True,
        load_user_skills=True,
        load_org_skills=True,
        load_public_skills=True,
    )

    found = discover(asked, tmp_path / "work", home=home)

    assert {skill.name: (skill.content, skill.origin) for skill in found.skills} == {
        "a": ("client", "client"),
        "b": ("project", "project"),
        "c": ("user", "user"),
        "d": ("home", "user"),
        "e": ("organisation", "organisation"),
        "f": ("public", "public"),
    }
    assert why(found, "public/c.md") == (False, "user/c.md has the same name and comes first")
    assert why(found, "public/f.md")[0]


@pytest.mark.parametrize(
    ("flag", "origin"),
    [
        ("load_user_skills", "user"),
        ("load_org_skills", "organisation"),
        ("load_public_skills", "public"),
    ],
)
def test_each_origin_can_be_left_out(tmp_path: Path, flag: str, origin: str):
    every = {"load_user_skills": True, "load_org_skills": True, "load_public_skills": True}
    files = [file for one in ("user", "organisation", "public") for file in sent(one, **{one: "x" + one})]
    asked = AgentContext(skill_files=files, **{**every, flag: False})

    found = discover(asked, tmp_path, home=tmp_path)

    assert {skill.origin for skill in found.skills} == {"user", "organisation", "public"} - {origin}
    assert why(found, f"{origin}/{origin}.md") == (False, f"skills of this origin are not wanted: {origin}")


def test_what_is_disabled_is_left_out_wherever_it_comes_from(tmp_path: Path):
    asked = AgentContext(
        skill_files=sent("public", a="A"), load_public_skills=True, disabled_skills=["a", "no-such-skill"]
    )

    found = discover(asked, tmp_path)

    assert found.skills == ()
    assert why(found, "public/a.md") == (False, "its name is in disabled_skills")


def test_a_file_that_the_app_server_could_not_send_is_reported(tmp_path: Path):
    file = {"origin": "user", "path": "user/big.md", "problem": "it is larger than 64 KiB"}

    found = discover(AgentContext(skill_files=[file], load_user_skills=True), tmp_path, home=tmp_path)

    assert why(found, "user/big.md") == (False, "it is larger than 64 KiB")


def test_further_repositories_keep_their_skills_and_collide_with_no_other(tmp_path: Path):
    skill = "---\nname: deploy\ntriggers:\n  - deploy\n---\n"
    first, lamp, pier = (tmp_path / name for name in ("harbour", "lamp", "pier"))
    write(
        first,
        {".git/HEAD": "", "AGENTS.md": "Harbour.", ".agents/skills/deploy.md": f"{skill}Harbour's."},
    )
    write(
        lamp,
        {
            ".git/HEAD": "",
            "AGENTS.md": "Lamp.",
            "app/AGENTS.md": "Lamp's app.",
            ".agents/skills/deploy.md": f"{skill}Lamp's.",
            ".agents/skills/zebra.md": ZEBRA,
        },
    )
    write(pier, {".git/HEAD": "", "AGENTS.md": "Harbour.", ".agents/skills/zebra.md": ZEBRA + " Yes."})

    found = project(first, further_projects=[str(lamp), str(pier)], disabled_skills=["unused"])

    texts = {skill.name: skill.content for skill in found.skills}
    assert texts == {
        "AGENTS.md": "Harbour.",
        "deploy": "Harbour's.",
        "../lamp/AGENTS.md": "Lamp.",
        "../lamp/app/AGENTS.md": "Lamp's app.",
        "lamp/deploy": "Lamp's.",
        "zebra": "Zebras have stripes.",
        "pier/zebra": "Zebras have stripes. Yes.",
    }
    assert "same text" in why(found, "pier/AGENTS.md")[1]
    rule = next(skill for skill in found.skills if skill.name == "../lamp/app/AGENTS.md")
    assert (rule.paths, rule.paths_below) == (("app/**",), str(lamp))
    off = project(first, further_projects=[str(lamp)], disabled_skills=["deploy"])
    assert not [skill.name for skill in off.skills if "deploy" in skill.name]
