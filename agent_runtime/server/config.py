"""The configuration of the agent server, read once at start from a file and the environment."""

import json
import logging
import os
import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)

from agent_runtime.server.startup.variables import TAKEN_OUT, read_variables
from agent_runtime.wire.startup_keys import FirstKeys

logger = logging.getLogger(__name__)

FILE_VARIABLE = "OPENHANDS_AGENT_SERVER_CONFIG_PATH"
DEFAULT_FILE = "workspace/openhands_agent_server_config.json"


class ConfigError(Exception):
    """The error that is raised when a setting has an invalid value. The text names the setting."""


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http(s) URL")
    return value.rstrip("/")


def _json_object(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


HttpUrl = Annotated[str, AfterValidator(_http_url)]
AbsolutePath = Annotated[Path, AfterValidator(Path.absolute)]


class Webhook(BaseModel):
    """The URL of the app server to which the agent server sends the events of conversations (`base_url`).
    Other settings of a webhook in the configuration, for example for batches and retries, are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    base_url: HttpUrl


class Config(BaseModel):
    """The configuration of the agent server.

    `session_keys`: each of these keys gives access to the server; without keys, all programs of this machine
    may call the server. `secret_key`: encrypts the secrets on disk; without it, secrets are stored only in
    memory. `deferred_init`: whether the server waits for POST /api/init and refuses other requests until
    then. The request POST /api/init needs the key `init_api_key`, or `secret_key` if there is no
    `init_api_key`.

    `max_concurrent_runs`: how many agents may work at the same time; all other agents wait; None means no
    limit. `conversation_idle_ttl_seconds`: a conversation that was not used for this number of seconds is
    removed from memory; None means never. `command_variables`: environment variables for commands, in
    addition to the server's variables; a PATH among these variables is put in front of the usual PATH.

    `git_outlet_port`: the port on loopback through which the git commands of the agent reach the app server.
    0 means any free port. None means that the git commands cannot reach the app server.

    `egress_proxy_url`: the URL of the app server's proxy, which is the only connection of the sandbox to the
    internet; None means that there is no proxy. A client of this proxy must send the session key, which
    commands do not know. So commands use a relay on loopback as their proxy. The relay adds the key and
    forwards the connections. `egress_relay_port`: the port of the relay; 0 means any free port.
    `egress_authority`: the certificate authority (PEM in base64) that commands must trust for connections
    through the proxy, in addition to the system's authorities.

    `spec_seal_keys`: keys as hexadecimal digits, newest first, that sign the stored specifications of
    conversations (the data with which each conversation was created). `takes_unsealed_specs`: whether
    specifications without a signature, from older versions, are accepted.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    conversations_path: AbsolutePath = Field(Path("workspace/conversations"), validate_default=True)
    workspace_path: AbsolutePath = Field(Path("workspace/project"), validate_default=True)
    conversation_worktree_root: AbsolutePath = Path("/tmp/conversation-worktrees")  # noqa: S108 (as in the protocol)
    persistence_dir: AbsolutePath = Field(Path("~/.slipway/agent-server"), validate_default=True)
    session_keys: tuple[str, ...] = Field((), alias="session_api_keys", repr=False)
    webhooks: tuple[Webhook, ...] = ()
    secret_key: SecretStr | None = None
    previous_secret_keys: tuple[SecretStr, ...] = ()
    spec_seal_keys: tuple[SecretStr, ...] = ()
    takes_unsealed_specs: bool = True
    egress_proxy_url: HttpUrl | None = None
    egress_relay_port: int = Field(8021, ge=0, le=65_535)
    egress_authority: Base64Bytes | None = None
    command_variables: Annotated[dict[str, str], BeforeValidator(_json_object)] = Field(default_factory=dict)
    init_api_key: SecretStr | None = None
    deferred_init: bool = False
    max_concurrent_runs: int | None = Field(10, ge=1)
    conversation_idle_ttl_seconds: float | None = Field(1200, gt=0)
    bash_events_retention_seconds: float | None = Field(None, gt=0)
    allow_cors_origins: tuple[str, ...] = ()
    allow_cors_origin_regex: str | None = None
    web_url: HttpUrl | None = None
    enable_vscode: bool = True
    vscode_port: int = Field(8001, ge=1, le=65_535)
    vscode_base_path: str | None = None
    desktop_port: int = Field(8002, ge=1, le=65_535)
    git_outlet_port: int | None = Field(None, ge=0, le=65_535)

    @field_validator("session_keys")
    @classmethod
    def _without_empty_keys(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for key in keys if key))

    @field_validator("spec_seal_keys")
    @classmethod
    def _in_hexadecimal_digits(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if not all(re.fullmatch("([0-9a-f]{2}){16,}", key.get_secret_value()) for key in keys):
            raise ValueError("must be hexadecimal digits, 32 of them at least")
        return keys

    @field_validator("persistence_dir", mode="before")
    @classmethod
    def _at_home(cls, value: Any) -> Any:
        return Path(value).expanduser() if isinstance(value, str | Path) else value

    @property
    def report_url(self) -> str | None:
        """The URL to which this server sends the events of conversations; None if it sends no events."""
        return self.webhooks[0].base_url if self.webhooks else None

    @property
    def init_key(self) -> str | None:
        key = self.init_api_key or self.secret_key
        return key.get_secret_value() if key else None


def read_config(
    environment: MutableMapping[str, str], handed: FirstKeys | None = None, *, may_guess: bool = True
) -> Config:
    """Returns the configuration from the variables in `environment` and from the configuration file that one
    of these variables names. Variables have priority over the file.

    `may_guess`: whether to use the default path of the file if no variable names a file. A missing file at
    the default path is not an error. `handed`: keys that the server received at its start through the
    standard input or a file. They replace the keys from the variables and from the configuration file. None
    means that the server received no keys.

    Variables with keys are removed from `environment`, so that no later child process inherits them. Raises
    ConfigError for an invalid value.
    """
    path = Path(environment.get(FILE_VARIABLE) or DEFAULT_FILE)
    is_named = FILE_VARIABLE in environment
    from_file = _read_file(path, is_named=is_named) if is_named or may_guess else {}
    given = {**from_file, **read_variables(environment, _NAMES)}
    for name in [name for name in environment if name.startswith(TAKEN_OUT)]:
        del environment[name]
    config = validated(given if handed is None else {**given, **handed.settings()})
    if config.deferred_init and config.init_key is None:
        raise ConfigError("OH_DEFERRED_INIT needs a key for POST /api/init: set OH_INIT_API_KEY.")
    return config


def validated(given: dict[str, Any]) -> Config:
    """Checks the given settings and returns the configuration.

    Raises ConfigError if a value is not valid. The error names the environment variable of the first invalid
    value, and never contains the value.
    """
    try:
        return Config.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        name = "_".join(["OH", *(str(part).upper() for part in first["loc"])])
        raise ConfigError(f"{name}: {first['msg']}.") from error


def from_environment() -> Config:
    """Returns the configuration of this process, read from its environment."""
    return read_config(os.environ)


_NAMES = {field.alias or name: field.annotation for name, field in Config.model_fields.items()}


def _read_file(path: Path, *, is_named: bool) -> dict[str, Any]:
    if not path.exists():
        if is_named:
            raise ConfigError(f"{FILE_VARIABLE}: there is no file {path}.")
        return {}
    try:
        body = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(body, dict):
        raise ConfigError(f"{path} must hold a JSON object.")
    for name in sorted(set(body) - set(_NAMES)):
        logger.warning("%s in %s is not a setting of this server", name, path)
    return body
