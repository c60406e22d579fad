"""Fixtures every test may use. Features keep their own beside their tests."""

from collections.abc import Iterator

import pytest

from tests.support.scripted_llm import ScriptedLLM

pytest_plugins = ["tests.support.requirements"]


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedLLM]:
    """The only thing that is ever played: the model."""
    with ScriptedLLM() as llm:
        yield llm
