"""Tests of colours in the output of commands: they are kept beside the text, and the text has no escape
codes.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.terminal.models import TerminalAction, TerminalObservation
from agent_runtime.tools.terminal.tool import TerminalTool
from agent_runtime.tools.tool import ToolContext
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[TerminalTool]:
    secrets = Secrets()
    secrets.update({"TOKEN": "correct-horse-battery"})
    tool = TerminalTool(ToolContext(tmp_path, tmp_path / "state", secrets), quiet_seconds=PATIENCE_SECONDS)
    yield tool
    await tool.close()


async def run(terminal: TerminalTool, command: str, **fields: Any) -> TerminalObservation:
    return await terminal.run(TerminalAction(command=command, **fields))


def coloured(observation: TerminalObservation) -> list[tuple[str, str]]:
    text = observation.text
    return [(text[start:end], style) for start, end, style in observation.metadata.styles or []]


@pytest.mark.parametrize(
    ("printed", "text", "expected"),
    [
        (r"plain \033[1;31mred\033[0m text\n", "plain red text", [("red", "1;31")]),
        (r"\033[32mone\ntwo\033[0m\nthree\n", "one\ntwo\nthree", [("one", "32"), ("two", "32")]),
        (
            r"\033[38;5;208morange\033[39m \033[48;2;1;2;3mdark\033[m\n",
            "orange dark",
            [("orange", "38;5;208"), ("dark", "48;2;1;2;3")],
        ),
        (r"\033[1mbold\033[22;4m line\033[24m end\n", "bold line end", [("bold", "1"), (" line", "4")]),
        (r" 10%%\r\033[33m 99%%\033[0m\n", " 99%", [(" 99%", "33")]),
        (r"\033[2K\033[35m\xf0\x9f\x8e\xa8 art\033[0m", "🎨 art", [("🎨 art", "35")]),
        (r"\033[38;5;999mno\033[38;2;1mno\033[nno\n", "nonono", []),
        (r"no colours\n", "no colours", []),
    ],
)
async def test_a_style_stands_beside_the_text(
    terminal: TerminalTool, printed: str, text: str, expected: list[tuple[str, str]]
):
    observation = await run(terminal, f"printf '{printed}'")

    assert observation.text == text
    assert coloured(observation) == expected


async def test_a_secret_with_colours_between_its_letters_is_hidden(terminal: TerminalTool):
    """`grep --color` prints text like this. When the colours are removed, the letters of the secret are
    adjacent again.
    """
    command = r"printf '\033[32mok\033[0m\nx=cor\033[31mrect-horse\033[0m-battery\n\033[32mend\033[0m\n'"
    observation = await run(terminal, command)

    assert observation.text == "ok\nx=<secret-hidden>\nend"
    assert coloured(observation) == [("ok", "32"), ("end", "32")]


async def test_the_ends_of_a_long_output_keep_their_colours(terminal: TerminalTool):
    script = r"printf '\033[32mfirst\033[0m\n'; seq 1 20000; printf '\033[31mlast\033[0m\n'"
    observation = await run(terminal, script)

    assert "left out here" in observation.text
    assert coloured(observation) == [("first", "32"), ("last", "31")]


async def test_styles_are_bounded(terminal: TerminalTool):
    script = r"for i in $(seq 1 4000); do printf '\033[31mx\033[32my'; done"
    observation = await run(terminal, script)

    assert len(observation.metadata.styles or []) <= 2000


async def test_each_command_begins_without_colours(terminal: TerminalTool):
    await run(terminal, r"printf '\033[31mleft open\n'")

    assert coloured(await run(terminal, "echo next")) == []
