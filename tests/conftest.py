"""Fixtures every test may use. Features keep their own beside their tests."""

import gc
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.sandbox_image import FLAVOUR
from tests.support.scripted_llm import ScriptedLLM
from tests.support.shared_in_process import share
from tests.support.steady_chromium import STEADY_BIN

pytest_plugins = [
    "tests.support.requirements",
    "tests.support.databases",
    "tests.support.litellm_clients",
    "tests.support.running.plugin",
]

share()

# Every program of ours that tests start would compile all of its modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# For every server and command that tests start, here or as a process.
os.environ["SLIPWAY_SANDBOX_FLAVOUR"] = FLAVOUR
# Before the Chromium of the machine, also for the agents' browsers.
os.environ["PATH"] = f"{STEADY_BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


# HYPOTHESIS_PROFILE=thorough looks for what the usual number of examples misses. How long they take says only
# what else the machine does.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", _UNTIMED, max_examples=10_000)
settings.register_profile("usual", _UNTIMED, max_examples=150)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


# Collection makes millions of objects that stay. Looking for garbage among them takes half of its time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedLLM]:
    """The only thing that is ever played: the model."""
    with ScriptedLLM() as llm:
        yield llm
