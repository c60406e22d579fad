"""Tests of the examination of a Docker engine. A proxy plays the engine, so the tests need no Docker."""

from pathlib import Path

import pytest

from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.docker.backend import DockerBackend
from tests.support.engine_proxy import EngineProxy, reply
from tests.support.shared_probes import real_probes

REACHED = {"StatusCode": 10}
NETWORK = {
    "Id": "n",
    "Driver": "bridge",
    "Internal": True,
    "Options": {
        "com.docker.network.bridge.enable_icc": "false",
        "com.docker.network.bridge.name": "slipway0",
    },
    "IPAM": {"Config": [{"Gateway": "127.0.0.1"}]},
}


async def test_an_examination_that_failed_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EngineProxy(tmp_path / "engine.sock") as engine, real_probes():
        monkeypatch.setenv("DOCKER_HOST", engine.url)
        engine.answer_with("GET /version", 200, {"ApiVersion": "1.44"})
        engine.answer_with("GET /networks/", 200, NETWORK)
        engine.answer_with("GET /images/", 200, {"Id": "sha256:1"})
        engine.answer_with("GET /containers/json", 200, [])
        engine.answer_with("GET /containers/probe/json", 200, {"Id": "probe"})
        engine.answer_with("POST /containers/create", 201, {"Id": "probe"})
        starts = iter([(500, {"message": "no memory"}), (204, {})])
        engine.on("POST /containers/probe/start", lambda: reply(*next(starts)))
        engine.answer_with("POST /containers/probe/wait", 200, REACHED)
        engine.answer_with("DELETE /containers/probe", 204, {})
        backend = DockerBackend(Config(home=tmp_path, sandbox="docker", sandbox_disk_bytes=None))
        await backend.open()
        with pytest.raises(StartFailure):
            await backend.examine()
        assert backend.kind.warning is None

        await backend.examine()
        warning = backend.kind.warning
        await backend.examine()  # both results are known: the engine is not asked to start a container
        await backend.close()
    assert warning
    assert "services that this machine offers" in warning
