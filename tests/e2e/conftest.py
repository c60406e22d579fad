"""Fixtures for tests of the whole product: a real app server, real sandboxes, a scripted model, a real
browser.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app_server import demo
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import AppServerProcess, add_model

SANDBOX_KINDS = ["process", pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Returns a copy of the demo repository, which has failing tests, as a repository of the user."""
    return demo.make_repository(tmp_path / "user")


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[AppServerProcess]:
    """Yields a running app server. Its sandboxes are processes, unless the test parametrizes this fixture
    with `docker`.
    """
    kind = getattr(request, "param", "process")
    if kind == "docker":
        sandbox_image()  # builds the image now: the patience of the test is too short for a build
    with AppServerProcess(tmp_path / "home", sandbox=kind) as process:
        yield process


@pytest.fixture
def scripted_server(server: AppServerProcess, scripted_llm: ScriptedLLM) -> AppServerProcess:
    """Returns a running app server whose active model is the scripted model."""
    scripted_llm.aside = say("A title")
    with server.client() as client:
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
    return server
