"""Fixtures every test may use. Features keep their own beside their tests."""

import os
from collections.abc import Iterator

import pytest

from tests.support.sandbox_image import FLAVOUR
from tests.support.scripted_llm import ScriptedLLM
from tests.support.steady_chromium import STEADY_BIN

pytest_plugins = ["tests.support.requirements"]

# For every server and command that tests start, here or as a process.
os.environ["SLIPWAY_SANDBOX_FLAVOUR"] = FLAVOUR
# Before the Chromium of the machine, also for the agents' browsers.
os.environ["PATH"] = f"{STEADY_BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedLLM]:
    """The only thing that is ever played: the model."""
    with ScriptedLLM() as llm:
        yield llm
