"""A conversation starts quickly with every project, also with a hostile one, and reports the files that it
could not load.
"""

import os
import time
from pathlib import Path

import pytest

from agent_runtime.context.discover import discover
from agent_runtime.context.discovered_context import MAX_TOTAL_BYTES
from agent_runtime.context.skills import AgentContext, ProjectContext

SKILL = "---\nname: good\ndescription: Fine.\n---\nText."
PROJECT = AgentContext(load_project_skills=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    good = tmp_path / ".agents/skills/good/SKILL.md"
    good.parent.mkdir(parents=True)
    good.write_text(SKILL)
    return tmp_path


def found_in(project: Path) -> ProjectContext:
    found = discover(PROJECT, project)
    # The context is stored with the conversation, so it must be possible to write it as JSON in UTF-8.
    assert ProjectContext.model_validate_json(found.model_dump_json()) == found
    return found


def bomb(levels: int = 30) -> str:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, levels))]
    return "\n".join([*lines, f"name: *a{levels - 1}", f"triggers: [*a{levels - 1}]"])


@pytest.mark.parametrize(
    ("front_matter", "reason"),
    [
        ("when: 2024-99-99", "not valid YAML"),
        ("a: " + "[" * 5000, "not valid YAML"),
        (bomb(), "`triggers` in its front matter is not a text"),
        ("triggers: [[nested]]", "`triggers` in its front matter is not a text"),
        ('name: "\\ud800"', "`name` in its front matter is not a text"),
    ],
)
def test_a_bad_skill_is_reported_and_the_others_are_loaded(project: Path, front_matter: str, reason: str):
    (project / ".agents/skills/bad.md").write_text(f"---\n{front_matter}\n---\nText.")

    found = found_in(project)

    assert [skill.name for skill in found.skills] == ["good"]
    (bad,) = [finding for finding in found.findings if not finding.is_loaded]
    assert reason in bad.reason


def test_a_number_as_a_trigger_is_a_text(project: Path):
    (project / ".agents/skills/year.md").write_text("---\ntriggers: [2024, true]\n---\nText.")

    assert discover(PROJECT, project).skills[1].triggers == ("2024", "True")


def test_only_regular_files_are_read(project: Path):
    os.mkfifo(project / "AGENTS.md")
    os.mkfifo(project / ".agents/skills/pipe.md")
    (project / ".agents/skills/circle.md").symlink_to("circle.md")

    found = found_in(project)

    assert [skill.name for skill in found.skills] == ["good"]
    reasons = {Path(one.path).name: one.reason for one in found.findings if not one.is_loaded}
    assert reasons == {
        "AGENTS.md": "it is not a file",
        "pipe.md": "it is not a file",
        "circle.md": "it is not a file",
    }


def test_names_that_are_no_utf8_are_passed_over(project: Path):
    odd = os.fsencode(project) + b"/caf\xe9"
    Path(os.fsdecode(odd)).mkdir()
    Path(os.fsdecode(odd), "AGENTS.md").write_text("Use tabs.")
    Path(os.fsdecode(os.fsencode(project) + b"/.agents/skills/caf\xe9.md")).write_text("Text.")

    found = found_in(project)

    assert [skill.name for skill in found.skills] == ["good"]


def test_all_of_it_together_is_bounded(project: Path):
    for number in range(40):
        (project / f".agents/skills/{number:02}.md").write_text(f"{number}".ljust(60_000, "x"))

    found = found_in(project)

    assert 1 < len(found.skills) < 40
    assert sum(len(skill.content) for skill in found.skills) <= MAX_TOTAL_BYTES
    assert "with the others it is too much" in found.findings[-1].reason


def test_a_large_tree_is_looked_at_quickly(project: Path):
    for number in range(600):
        (project / f"src{number:03}/deep/deeper").mkdir(parents=True)

    begun = time.process_time()
    found_in(project)

    assert time.process_time() - begun < 0.5
