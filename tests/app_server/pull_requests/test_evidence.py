"""Tests of the text of a pull request, which is made from a template and the agent's last message."""

from typing import Any

from app_server.pull_requests.evidence import body_of

TEMPLATE = "## Why\n\nThe reason\n\n## Tests"


def said(text: str) -> list[dict[str, Any]]:
    return [{"kind": "ActionEvent", "action": {"kind": "FinishAction", "message": text}}]


def test_the_template_comes_first_unless_the_agent_has_filled_it_in() -> None:
    plain = body_of(said("Done."), "", "https://example.org/1", TEMPLATE)
    assert plain.startswith(f"{TEMPLATE}\n\nDone.\n\n")
    filled = body_of(said("## Why\n\nIt leaks.\n\n## Tests\n\nAll"), "", "https://example.org/1", TEMPLATE)
    assert filled.startswith("## Why\n\nIt leaks.\n\n## Tests\n\nAll\n\n[")
