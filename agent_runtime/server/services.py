"""Creates the long-lived objects that the routes use, and closes them when the server stops."""

import asyncio

from fastapi import FastAPI

from agent_runtime.llm.complete import LLMClient
from agent_runtime.plugins.store import PluginStore
from agent_runtime.project_executables.load_consented import ApprovedExecutables
from agent_runtime.server.bash.service import BashService
from agent_runtime.server.config import Config
from agent_runtime.server.conversations.children import Children
from agent_runtime.server.conversations.registry import Registry
from agent_runtime.server.conversations.worktrees import WorkTrees
from agent_runtime.server.keys.session_keys import SessionKeys
from agent_runtime.server.keys.spec_signing import spec_signer_of
from agent_runtime.server.mcp_probes import SignIns
from agent_runtime.server.outgoing.authority_trust import trust
from agent_runtime.server.outgoing.egress_relay import EgressRelay
from agent_runtime.server.outgoing.git_relay import GitRelay
from agent_runtime.server.outgoing.git_remotes import RemotesFile
from agent_runtime.server.outgoing.report import Reporter
from agent_runtime.server.runtime_plugins.registry import RuntimePlugins
from agent_runtime.server.saved.encrypted_settings import EncryptedSettings
from agent_runtime.workspace.environment import set_additional_variables, set_models_url, set_trusted
from agent_runtime.workspace.private_dir import remove_leftovers
from agent_runtime.workspace.private_tree import directory_for_commands


class Services:
    """The object that creates and closes the long-lived objects (services) of the agent server, such as the
    HTTP client and the registry of conversations.

    Routes find the services in `app.state`: `config`, `session_keys`, `registry` …
    """

    def __init__(self, app: FastAPI, config: Config) -> None:
        self._app = app
        self._client: LLMClient | None = None
        self._reporter: Reporter | None = None
        self._relay: EgressRelay | None = None
        self._git_relay: GitRelay | None = None
        self._config = config
        app.state.config = config
        app.state.session_keys = SessionKeys(config)
        app.state.file_roots = [
            config.workspace_path,
            config.conversations_path,
            config.conversation_worktree_root,
        ]

    async def start(self) -> None:
        """Starts all services. If one fails, closes the services that have started and raises the error."""
        config = self._config
        set_additional_variables(config.command_variables)
        try:
            await asyncio.to_thread(config.workspace_path.mkdir, parents=True, exist_ok=True)
            await asyncio.to_thread(remove_leftovers)
            if config.egress_proxy_url and config.session_keys:
                keys: SessionKeys = self._app.state.session_keys
                self._relay = EgressRelay(config.egress_proxy_url, lambda: keys.present)
                await self._relay.open(config.egress_relay_port)
                if config.egress_authority:
                    directory = directory_for_commands(config.conversations_path)
                    await asyncio.to_thread(trust, directory, config.egress_authority)
            await self._open_git_relay(config)
            self._begin(config)
        except Exception:
            await self.close()
            raise

    async def close(self) -> None:
        if self._reporter is not None:
            await self._reporter.close()
        for name in ("mcp_sign_ins", "bash_service", "registry", "runtime_plugins"):
            service = getattr(self._app.state, name, None)
            if service is not None:
                await service.close()
                delattr(self._app.state, name)
        if self._git_relay is not None:
            set_models_url(None)
            await self._git_relay.close()
        set_additional_variables({})
        if self._relay is not None:
            set_trusted({})
            await self._relay.close()
        if self._client is not None:
            await self._client.close()
        self._client = self._reporter = self._relay = self._git_relay = None

    async def _open_git_relay(self, config: Config) -> None:
        self._app.state.git_remotes = None
        if config.git_outlet_port is None or config.report_url is None:
            return
        keys: SessionKeys = self._app.state.session_keys
        self._git_relay = GitRelay(config.report_url, lambda: keys.present)
        await self._git_relay.open(config.git_outlet_port)
        set_models_url(self._git_relay.models_url)
        self._app.state.git_remotes = remotes = RemotesFile(config.conversations_path, self._git_relay.url)
        await asyncio.to_thread(remotes.open)

    def _begin(self, config: Config) -> None:
        keys: SessionKeys = self._app.state.session_keys
        self._app.state.llm_client = self._client = LLMClient(credential_for=keys.credential_for)
        self._app.state.encrypted_settings = encrypted_settings = EncryptedSettings(config)
        self._reporter = Reporter(config.report_url, keys)
        self._app.state.registry = registry = Registry(
            config,
            self._client,
            self._reporter,
            keys.credential_for,
            encrypted_settings.key_encryption,
            spec_signer_of(config),
        )
        self._app.state.worktrees = trees = WorkTrees(registry, config.conversation_worktree_root)
        self._app.state.children = children = Children(
            registry, encrypted_settings, config.conversation_worktree_root, trees.tidy
        )
        registry.delegation_of = children.delegation_of
        registry.saved_llm = encrypted_settings.llm_of
        self._app.state.bash_service = BashService(
            config.workspace_path, retention_seconds=config.bash_events_retention_seconds
        )
        self._app.state.runtime_plugins = RuntimePlugins(config)
        self._app.state.plugins = PluginStore(config.persistence_dir / "plugins", config.workspace_path)
        self._app.state.approved_executables = ApprovedExecutables(config.persistence_dir / "approved")
        self._app.state.mcp_sign_ins = SignIns(config.workspace_path)
        registry.start()
