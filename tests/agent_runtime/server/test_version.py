"""The server knows its version also if the code is there but no package is installed, as in every image."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from agent_runtime.version import VERSION
from tests.agent_runtime.server.test_trajectories import DOWNLOAD, worked
from tests.support.agent_app import agent_app, called
from tests.support.scripted_llm import ScriptedLLM

ROOT = Path(__file__).parents[3]


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", find)
    monkeypatch.setattr(metadata, "version", find)


def test_the_package_has_the_version_that_the_code_names():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


@pytest.mark.usefixtures("without_package")
async def test_an_atif_export_is_whole_where_no_package_is_installed(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path) as client:
        conversation_id = await worked(client, scripted_llm, tmp_path)
        document = await called(client, "GET", f"{DOWNLOAD}/{conversation_id}", params={"format": "atif"})

    assert document["agent"] == {"name": "slipway", "version": VERSION, "model_name": "openai/scripted"}
    assert document["final_metrics"]["total_steps"] == 4


@pytest.mark.usefixtures("without_package")
async def test_the_server_knows_its_version_where_no_package_is_installed(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        info = await called(client, "GET", "/server_info")

    named = {info[name] for name in ("version", "sdk_version", "tools_version", "workspace_version")}
    assert named == {VERSION}
