"""The long-lived objects behind the routes, and when there are any: at once, or from POST /api/init on."""

import asyncio
from typing import Literal

from fastapi import FastAPI

from agent_runtime.llm.complete import LLMClient
from agent_runtime.offers.approved import ApprovedOffers
from agent_runtime.plugins.store import PluginStore
from agent_runtime.server.bash_service import BashService
from agent_runtime.server.children import Children
from agent_runtime.server.config import Config
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.mcp_probes import SignIns
from agent_runtime.server.registry import Registry
from agent_runtime.server.report import Reporter
from agent_runtime.server.vault import Vault
from agent_runtime.workspace.private_dir import remove_leftovers

InitState = Literal["dormant", "initializing", "ready"]


class Services:
    """Owns them. Routes find them in `app.state`: `config`, `registry` and what else is here."""

    def __init__(self, app: FastAPI, config: Config) -> None:
        self._app = app
        self._client: LLMClient | None = None
        self._reporter: Reporter | None = None
        self.state: InitState = "dormant"
        self.error: str | None = None
        self._configure(config)

    async def start(self, config: Config) -> None:
        """Begins to serve `config`. If it fails, it may be tried again with another one."""
        self.state, self.error = "initializing", None
        before = self._app.state.config
        try:
            self._configure(config)
            await asyncio.to_thread(config.workspace_path.mkdir, parents=True, exist_ok=True)
            await asyncio.to_thread(remove_leftovers)
            self._begin(config)
        except Exception as error:
            self.state, self.error = "dormant", str(error)
            self._configure(before)
            await self.close()
            raise
        self.state = "ready"

    async def close(self) -> None:
        if self._reporter is not None:
            await self._reporter.close()
        for name in ("mcp_sign_ins", "bash_service", "registry"):
            service = getattr(self._app.state, name, None)
            if service is not None:
                await service.close()
                delattr(self._app.state, name)
        if self._client is not None:
            await self._client.close()
        self._client = self._reporter = None

    def _configure(self, config: Config) -> None:
        self._app.state.config = config
        self._app.state.file_roots = [
            config.workspace_path,
            config.conversations_path,
            config.conversation_worktree_root,
        ]

    def _begin(self, config: Config) -> None:
        self._app.state.llm_client = self._client = LLMClient(credential_for=config.credential_for)
        self._app.state.vault = Vault(config)
        self._reporter = Reporter(config)
        self._app.state.registry = registry = Registry(config, self._client, self._reporter)
        self._app.state.children = children = Children(
            registry, self._app.state.vault, config.conversation_worktree_root
        )
        registry.delegation_of = children.delegation_of
        self._app.state.bash_service = BashService(
            config.workspace_path, retention_seconds=config.bash_events_retention_seconds
        )
        self._app.state.plugins = PluginStore(config.persistence_dir / "plugins", config.workspace_path)
        self._app.state.approved_offers = ApprovedOffers(config.persistence_dir / "approved")
        self._app.state.mcp_sign_ins = SignIns(config.workspace_path)
        registry.start()


def not_ready(state: InitState) -> ServerProblem:
    return ServerProblem(
        503,
        "not_initialized",
        f"This server is {state}: it has not been told yet for whom it works.",
        "Send POST /api/init with its X-Init-API-Key.",
    )
