"""Fixtures for the tests of triggers: a trigger of the owner for a repository at a simulated GitHub."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from app_server.core.jobs.worker import Jobs
from tests.app_server.conftest import App, http_client
from tests.app_server.eventually import eventually
from tests.support.github_host import GitHubHost
from tests.support.github_issues import signed
from tests.support.standing_host import LOGIN, OpenIssue

REPOSITORY = "team/harbour"


@dataclass
class Hooked:
    """A trigger and its git host. `client`: an HTTP client of the owner. `jobs`: the worker that handles the
    deliveries.
    """

    app: App
    client: httpx.AsyncClient
    host: GitHubHost
    trigger: dict[str, Any] = field(default_factory=dict)

    @property
    def jobs(self) -> Jobs:
        worker: Jobs = self.app.state["jobs"]
        return worker

    async def add(self, **wanted: Any) -> None:
        body = {"repository": self.host.git.url(REPOSITORY), **wanted}
        reply = await self.client.post("/api/v1/triggers", json=body)
        assert reply.status_code == 201, reply.text
        self.trigger = reply.json()

    async def send(self, event: str, body: dict[str, Any], delivery: str = "") -> int:
        async with http_client(self.app.public) as anonymous:
            sent = signed(self.trigger["secret"], event, body, delivery)
            return (await anonymous.post(f"/api/v1/git-webhooks/{self.trigger['id']}", **sent)).status_code

    async def deliveries(self) -> list[dict[str, Any]]:
        """Waits until all deliveries of the trigger are handled. Returns them, the newest first."""
        path = f"/api/v1/triggers/{self.trigger['id']}/deliveries"
        found: list[dict[str, Any]] = []

        async def all_handled() -> bool:
            found[:] = (await self.client.get(path, params={"limit": 100})).json()["items"]
            return bool(found) and all(one["state"] != "waiting" for one in found)

        await eventually(all_handled)
        return found


@pytest.fixture
async def hooked(app: App, client: httpx.AsyncClient, tmp_path: Path) -> AsyncIterator[Hooked]:
    """Yields a `Hooked` with a trigger for the repository team/harbour. The start worker is stopped:
    conversations are stored, but no sandbox is started.
    """
    await app.state["start_worker"].close()
    with GitHubHost(tmp_path / "host") as host:
        host.git.make(REPOSITORY)
        host.git.tokens["t0ken"] = "write"
        host.issues.writers |= {"grace", LOGIN}
        host.issues.open[4] = OpenIssue(4, "The lighthouse is dark", "Light it.")
        (await client.post("/api/v1/settings/git-credentials", json=host.credential)).raise_for_status()
        found = Hooked(app, client, host)
        await found.add()
        yield found
        assert host.violations == []
