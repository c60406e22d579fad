"""The whole product: a real server process, real sandboxes, a scripted model, a real browser."""

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
    """The sample repository with its failing tests, as a user's own."""
    return demo.make_repository(tmp_path / "user")


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[AppServerProcess]:
    """A running app server; process sandboxes unless the test asks otherwise by parametrising it."""
    kind = getattr(request, "param", "process")
    if kind == "docker":
        sandbox_image()  # or else the test's own patience would have to last for the build
    with AppServerProcess(tmp_path / "home", sandbox=kind) as process:
        yield process


@pytest.fixture
def scripted_server(server: AppServerProcess, scripted_llm: ScriptedLLM) -> AppServerProcess:
    """A running app server whose active model is the scripted one."""
    scripted_llm.aside = say("A title")
    with server.client() as client:
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
    return server
