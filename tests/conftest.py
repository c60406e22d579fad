"""The fixtures and settings for all tests. Fixtures of one feature are in the conftest.py of its tests."""

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

# Otherwise each program of ours that a test starts compiles all of its modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# For all servers and commands that tests start, in this process or in another one.
os.environ["SLIPWAY_SANDBOX_FLAVOUR"] = FLAVOUR
# So that our `chromium` is found before that of the machine, also by the browsers of agents.
os.environ["PATH"] = f"{STEADY_BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


# HYPOTHESIS_PROFILE=thorough tries many more examples. There are no time limits, because the time depends on
# what
# else the machine does.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", _UNTIMED, max_examples=10_000)
settings.register_profile("usual", _UNTIMED, max_examples=150)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


# Collection makes millions of objects that stay. Garbage collection among them takes half of the time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedLLM]:
    """Yields the scripted model. The model is the only part that tests always replace by a fake."""
    with ScriptedLLM() as llm:
        yield llm
