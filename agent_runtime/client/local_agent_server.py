"""Connects a program that runs inside a sandbox to the agent server of that sandbox. Creates no sandbox."""

import logging
import os
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from agent_runtime.client.errors import WorkspaceError
from agent_runtime.client.http import CONNECT_SECONDS, check, disconnected, headers
from agent_runtime.client.remote_workspace import RemoteWorkspace
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM

logger = logging.getLogger(__name__)

PORT = 60_000
CALL_SECONDS = 30.0
MAX_ERROR_CHARS = 2_000


class LocalAgentServer(RemoteWorkspace):
    """A RemoteWorkspace for programs that run inside a sandbox, such as automations. It connects to the agent
    server of this sandbox.

    If the environment variable AUTOMATION_CALLBACK_URL is set, the end of a `with` block is reported to this
    URL, with the status COMPLETED or FAILED. If the report cannot be sent, this is only logged, so the report
    may be missing.
    """

    def __init__(
        self,
        *,
        port: int | None = None,
        working_dir: str = "/workspace/project",
        app_server_url: str | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Stores how to reach the agent server and the app server. Raises ValueError for an invalid port.

        `port`: the port of the agent server; None means the variable AGENT_SERVER_PORT, or 60000 if it is not
        set. `working_dir`: where commands run. `app_server_url`: the URL at which programs in a sandbox reach
        the app server; None means the variable SLIPWAY_URL or OPENHANDS_CLOUD_API_URL. `environment`: the
        environment variables.

        The other settings are read from these variables. SESSION_API_KEY or OH_SESSION_API_KEYS_0: the
        session key for requests to the agent server. SANDBOX_ID and AUTOMATION_RUN_ID:
        the ids of the sandbox and of the automation's run. AUTOMATION_CALLBACK_URL: the URL to which the end
        of a `with` block is reported. OPENHANDS_API_KEY: the key that is sent with this report. If it is not
        set, the session key is sent in its place, but only if the report goes to the app server.
        """
        found = port if port is not None else int(environment.get("AGENT_SERVER_PORT") or PORT)
        key = environment.get("SESSION_API_KEY") or environment.get("OH_SESSION_API_KEYS_0")
        super().__init__(f"http://localhost:{found}", api_key=key, working_dir=working_dir)
        url = app_server_url or environment.get("SLIPWAY_URL") or environment.get("OPENHANDS_CLOUD_API_URL")
        self.app_server_url = url.rstrip("/") if url else None
        self.sandbox_id = environment.get("SANDBOX_ID")
        self.run_id = environment.get("AUTOMATION_RUN_ID")
        self._callback_url = environment.get("AUTOMATION_CALLBACK_URL")
        self._callback_key = environment.get("OPENHANDS_API_KEY")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._callback_url:
                self._report(self._callback_url, error)
        finally:
            self.close()

    def get_llm(self, profile: str | None = None, **changes: Any) -> LLM:
        """Returns the user's active model, or the model that the user has saved under the name `profile`. The
        app server adds the API key to the calls of this model, so the returned LLM has no key.

        `changes`: new values for fields of the LLM. Raises WorkspaceError `llm_profile_not_found` if the user
        has no saved model of this name. Raises WorkspaceError `not_in_a_sandbox` if the program does not run
        in a sandbox.
        """
        params = {} if profile is None else {"profile": profile}
        return LLM.model_validate({**self._ask("llm", params).json(), **changes})

    def get_secrets(self, names: Collection[str] | None = None) -> dict[str, JsonObject]:
        """Returns the secrets of the user that a conversation may use, by name. `names`: the names of the
        secrets to return; None means all. The result contains the addresses where the values can be looked
        up, not the values.

        Raises WorkspaceError `not_in_a_sandbox` if the program does not run in a sandbox.
        """
        found = self._ask("secrets", {}).json()["secrets"]
        return {
            each["name"]: {
                "kind": "LookupSecret",
                "url": f"{self._settings_url}/secrets/{quote(each['name'], safe='')}",
                "description": each["description"],
            }
            for each in found
            if names is None or each["name"] in names
        }

    @property
    def _settings_url(self) -> str:
        if not (self.app_server_url and self.sandbox_id and self.api_key):
            raise WorkspaceError(
                "not_in_a_sandbox",
                "This program does not know its sandbox, or the app server of that.",
                "Set SLIPWAY_URL, SANDBOX_ID and SESSION_API_KEY.",
            )
        return f"{self.app_server_url}/api/v1/sandboxes/{self.sandbox_id}/settings"

    def _ask(self, what: str, params: Mapping[str, str]) -> httpx.Response:
        url = f"{self._settings_url}/{what}"
        try:
            # The app server is in the local network. The proxies of the environment are for the outside.
            with httpx.Client(trust_env=False, timeout=CALL_SECONDS) as http:
                return check(http.get(url, params=params, headers=headers(self.api_key)))
        except httpx.TransportError as error:
            raise disconnected(url, error) from error

    def _report(self, url: str, error: BaseException | None) -> None:
        body: dict[str, str] = {"status": "FAILED" if error else "COMPLETED"}
        if self.run_id:
            body["run_id"] = self.run_id
        if error:
            body["error"] = (str(error) or type(error).__name__)[:MAX_ERROR_CHARS]
        try:
            reply = httpx.post(url, json=body, headers=self._credentials_for(url), timeout=CONNECT_SECONDS)
            reply.raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            logger.warning("the end of the run could not be reported: %s", type(problem).__name__)

    def _credentials_for(self, url: str) -> dict[str, str]:
        if self._callback_key:
            return {"Authorization": f"Bearer {self._callback_key}"}
        if self.app_server_url and _origin(url) == _origin(self.app_server_url):
            return headers(self.api_key)
        return {}


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
