"""The deploy-time configuration of the app server, read once from environment variables `SLIPWAY_*`.

Settings that users change while the server runs are not here but in the folder `settings/`.
"""

import os
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import SettingsConfigDict, SettingsError

from app_server.core.addresses import parse_named, parse_networks, parse_rule
from app_server.core.errors import ConfigurationError
from app_server.core.mail.server import MailServer
from app_server.core.sandbox_hosts import SandboxHost
from app_server.core.sign_in.config import SignInConfig
from app_server.core.variables import unknown_variables

SandboxChoice = Literal["auto", "docker", "process", "remote"]
SandboxFlavour = Literal["full", "slim"]
DEFAULT_BASE_IMAGE = "debian:bookworm-slim"
IMAGE_NAME = r"^[a-z0-9][A-Za-z0-9._/:@-]*$"


class Config(SignInConfig):
    """The deploy-time configuration of this process. Each field is the value of the environment variable
    `SLIPWAY_` followed by the field's name in upper case. The server does not start if a value is not valid
    (see `load_config`).
    """

    model_config = SettingsConfigDict(env_prefix="SLIPWAY_", frozen=True, extra="ignore")

    home: Path = Path("~/.slipway")
    """The directory of all data that must survive: database, keys, process sandboxes."""

    host: str = "127.0.0.1"
    """The address that the server listens on. `0.0.0.0` listens on all."""

    port: int = Field(default=3000, ge=1, le=65535)
    """The port of the product: pages, REST API and streams."""

    inner_port: int = Field(default=3001, ge=1, le=65535)
    """The port of the listener that sandboxes report to. Keep it the same, so that a sandbox finds a
    restarted server.
    """

    public_url: str | None = None
    """URL by which browsers reach the server if it is not http://localhost:PORT, as with a reverse proxy."""

    allowed_hosts: list[str] = []
    """Additional names that are accepted in the Host header, besides localhost and the host of
    `public_url`.
    """

    trusted_proxies: list[str] = []
    """Addresses and networks of reverse proxies whose `X-Forwarded-For` header is trusted to tell where a
    request comes from.
    """

    preview_domain: str | None = Field(default=None, pattern=r"^([a-z0-9-]+(\.[a-z0-9-]+)*)?$")
    """Parent domain for the ports of sandboxes: each port gets a name below it, which needs wildcard DNS and
    TLS. Default: localhost if `public_url` is not set, otherwise no names. Empty: no names. Without names,
    pages are below a path of the server, in an opaque origin.
    """

    database_url: SecretStr | None = None
    """SQLAlchemy URL; `postgresql+asyncpg://…` for teams. Default: a SQLite file in `home`."""

    redis_url: SecretStr | None = None
    """URL of the Redis that several app servers share for live frames. Default: inside this process."""

    tavily_api_key: SecretStr | None = None
    """The key of the search service for the tool `web_search`. Default: the tool is not offered."""

    tavily_url: str = Field(default="https://api.tavily.com", pattern=r"^https?://")
    """The address of the search service."""

    encryption_keys: list[SecretStr] = []
    """Fernet keys, newest first. Default: `home`/encryption.key, created at the first start."""

    sandbox: SandboxChoice = "auto"
    """Where sandboxes run. docker: in containers; process: as processes of this machine; remote: on the hosts
    of SLIPWAY_SANDBOX_HOSTS (see sandbox-service.md); auto: docker if an engine answers, else process.
    """

    process_isolation: Literal["auto", "bubblewrap", "none"] = "auto"
    """Isolation of process sandboxes. auto: where bubblewrap works; bubblewrap: always (else a start fails);
    none: never.
    """

    sandbox_image: str | None = None
    """A ready image that is used instead of building our own."""

    sandbox_flavour: SandboxFlavour = "full"
    """Which variant of our image is used: with a browser and fonts, or without."""

    sandbox_base_image: str = Field(default=DEFAULT_BASE_IMAGE, pattern=IMAGE_NAME)
    """The image that our own image is built on. Builds are identified by this name alone: a changed base
    image needs another name. `slipway images build --dockerfile` builds one and prints its name.
    """

    sandbox_specs: Literal["nobody", "admins", "everybody"] = "admins"
    """Which users may choose what sandboxes are built on. It lets them run builds on the engine, with a
    network.
    """

    sandbox_build_timeout_seconds: float = Field(default=1800.0, gt=0)
    """Maximum time in seconds to build or fetch a base image that a user has chosen."""

    sandbox_build_max_bytes: int = Field(default=10 * 1024**3, ge=1024**2)
    """Maximum size, in bytes, of a base image that a user has chosen."""

    sandbox_build_network: Literal["default", "none"] = "default"
    """Whether the commands of a user's own Dockerfile have the engine's network."""

    sandbox_runtime: str | None = None
    """The container runtime, by its name in the engine: runsc (gVisor), kata, sysbox-runc. Default: runc."""

    sandbox_memory_bytes: int = Field(default=4 * 1024**3, ge=256 * 1024**2)
    """Maximum memory of one sandbox, in bytes."""

    sandbox_memory_total_bytes: int | None = Field(default=None, ge=256 * 1024**2)
    """Maximum sum, in bytes, of the memory limits of all running sandboxes. Further sandboxes wait.

    Default: one and a half times the memory of the engine's machine. Process sandboxes have no limit by
    default.
    """

    sandbox_cpus: float = Field(default=2.0, gt=0)
    """Maximum number of processors that one sandbox uses."""

    sandbox_pids: int = Field(default=1024, ge=64)
    """Maximum number of processes in one sandbox."""

    sandbox_disk_bytes: int | None = Field(default=20 * 1024**3, ge=256 * 1024**2)
    """Maximum size of a workspace in bytes; 0: no limit. If set, a workspace needs a separate disk, or the
    start fails. If unset, the limit is 20 GiB, and the size is watched where a separate disk is not possible.
    """

    sandbox_pool: int = Field(default=0, ge=0, le=20)
    """The number of containers that are kept ready for new conversations. Each is halted and uses 47 MB."""

    sandbox_pools: dict[
        Annotated[str, Field(max_length=250, pattern=IMAGE_NAME)], Annotated[int, Field(ge=0, le=20)]
    ] = Field(default={}, max_length=20)
    """The number of ready containers, keyed by the image that users have chosen to build on."""

    sandbox_start_timeout_seconds: float = Field(default=120.0, gt=0)
    """Maximum time in seconds until the agent server of a new sandbox answers."""

    stop_sandboxes_on_exit: bool = False
    """Whether containers stop with the server and start again with it. Process sandboxes always do."""

    sandbox_hosts: list[SandboxHost] = []
    """With SLIPWAY_SANDBOX=remote: the hosts of the sandboxes, each `{"name", "url", "token_file"}`."""

    sandbox_hosts_ca: Path | None = None
    """A PEM file with CA certificates for the sandbox hosts, in addition to those the system trusts."""

    sandbox_host_patience_seconds: float = Field(default=20.0, gt=0)
    """After this time without an answer, in seconds, a host counts as lost, and its sandboxes are marked as
    lost.
    """

    sandbox_backup_minutes: float | None = Field(default=None, gt=0)
    """After this time without work, in minutes, a sandbox's files are backed up in the archive, in case its
    host is lost. The backup is repeated after further work. The sandbox is paused meanwhile. Default: never.
    """

    password_sign_in: bool = True
    """Whether people can set a password and sign in with it: see accounts.md."""

    sandbox_host_port: int = Field(default=3010, ge=1, le=65535)
    """For `slipway sandbox-host`: the port at which app servers reach it."""

    sandbox_host_certificate: Path | None = None
    """For `slipway sandbox-host`: the PEM file with its TLS certificate. Default: plain HTTP."""

    sandbox_host_key: Path | None = None
    """For `slipway sandbox-host`: the PEM file with the key of its certificate."""

    session_key_minutes: float = Field(default=60.0, gt=0)
    """How long a sandbox's session key is valid, in minutes. It is replaced after half of this time while the
    sandbox runs.
    """

    sandbox_idle_minutes: float | None = Field(default=None, gt=0)
    """After this time without work, in minutes, a sandbox is put to sleep; a message wakes it. Default:
    never.
    """

    sandbox_max_conversations: int = Field(default=20, ge=1)
    """Maximum number of conversations in a sandbox, if the user lets conversations share sandboxes."""

    sandbox_frozen_minutes: float = Field(default=60.0, ge=0)
    """How long a sleeping container keeps its memory and processes, in minutes. Then it is stopped; its files
    stay.
    """

    egress: Literal["none", "allowlist", "open"] = "allowlist"
    """What sandboxes may call: nothing, listed hosts, or all. A user or a repository can have another
    setting.
    """

    egress_hosts: list[str] = []
    """Hosts to allow in addition to those of package registries and git hosts: `name`, `*.name`,
    `name:port`.
    """

    egress_private: list[str] = []
    """Private networks, addresses and hosts that sandboxes may call if the policy allows it.
    Default: none.
    """

    package_cache_bytes: int = Field(default=4 * 1024**3, ge=0)
    """Maximum size, in bytes, of the cached packages of each user; 0: nothing is cached."""

    package_cache_hosts: list[str] = []
    """Private package hosts to cache, in addition to the public registries. Files with a version in the name
    are kept.
    """

    sandbox_archive_days: float | None = Field(default=None, gt=0)
    """After this time asleep, in days, a sandbox's files are moved to an archive. Default: never."""

    sandbox_archive_max_bytes: int = Field(default=50 * 1024**3, ge=1024**2)
    """Maximum uncompressed size of an archive or a snapshot of a workspace."""

    skills_path: Path | None = None
    """Skills for all users: the directories `organisation` and `public` in it hold `*.md` and
    `NAME/SKILL.md`.
    """

    clone_timeout_seconds: float = Field(default=600.0, gt=0)
    """Maximum time in seconds to clone a repository."""

    setup_script_timeout_seconds: float = Field(default=600.0, gt=0)
    """Maximum time in seconds of the setup script of a repository."""

    max_body_bytes: int = Field(default=20 * 1024**2, ge=1024)
    """Maximum size, in bytes, of a request for a conversation. Other routes take 2 MiB. Requests without a
    sign-in take 64 KiB.
    """

    max_message_bytes: int = Field(default=1024**2, ge=1024)
    """Maximum size of the text of one message, in bytes."""

    llm_timeout_seconds: float = Field(default=600.0, gt=0)
    """Maximum time in seconds that a model may be silent during a call."""

    llm_calls_per_sandbox: int = Field(default=24, ge=1)
    """Maximum number of concurrent model calls of a sandbox. Others wait for 30 seconds, then get 429."""

    llm_calls_per_user: int = Field(default=96, ge=1)
    """Maximum number of concurrent model calls of all sandboxes of a user, including the user's tests of
    models. Further calls wait as with `llm_calls_per_sandbox`.
    """

    mail: MailServer | None = None
    """The server that sends e-mail, `{"host", "sender", …}`: see webhooks.md. Default: none is sent."""

    audit_retention_days: int = Field(default=0, ge=0)
    """How long the audit log keeps an entry, in days; 0: forever."""

    session_days: int = Field(default=30, ge=1)
    """How long a browser that is not used stays signed in, in days."""
    session_max_days: int = Field(default=180, ge=1)
    """How long any browser stays signed in, in days."""

    @field_validator("sandbox_disk_bytes", mode="before")
    @classmethod
    def _none_for_zero(cls, value: object) -> object:
        return None if value in (0, "0") else value

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("skills_path")
    @classmethod
    def _directory(cls, path: Path | None) -> Path | None:
        if path is None:
            return None
        whole = path.expanduser().absolute()
        if not whole.is_dir():
            raise ValueError("there is no such directory")
        return whole

    @field_validator("egress_hosts", "package_cache_hosts")
    @classmethod
    def _hosts(cls, hosts: list[str]) -> list[str]:
        return [str(parse_rule(host)) for host in hosts]

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, proxies: list[str]) -> list[str]:
        return [str(network) for network in parse_networks(proxies)]

    @field_validator("egress_private")
    @classmethod
    def _private(cls, places: list[str]) -> list[str]:
        parse_named(places)
        return places

    @model_validator(mode="after")
    def _hosts_are_named(self) -> Self:
        names = [host.name for host in self.sandbox_hosts]
        if len(set(names)) < len(names):
            raise ValueError("two of SLIPWAY_SANDBOX_HOSTS have the same name")
        if self.sandbox == "remote" and not names:
            raise ValueError("SLIPWAY_SANDBOX=remote needs SLIPWAY_SANDBOX_HOSTS")
        if self.sandbox_hosts_ca and not self.sandbox_hosts_ca.is_file():
            raise ValueError("there is no file at SLIPWAY_SANDBOX_HOSTS_CA")
        return self

    @model_validator(mode="after")
    def _preview_domain_needs_https(self) -> Self:
        # Over plain HTTP, a page could set cookies for its parent domain. They could not be distinguished
        # from our cookies.
        if self.preview_domain in {None, "", "localhost"} or self.base_url.startswith("https:"):
            return self
        raise ValueError("SLIPWAY_PREVIEW_DOMAIN needs a SLIPWAY_PUBLIC_URL that begins with https")

    @property
    def preview_suffix(self) -> str | None:
        """The domain at the end of the host names under which browsers reach the ports of sandboxes. None if
        ports have no separate host names and are reached below a path of Slipway's address.
        """
        if self.preview_domain is None:
            return None if self.public_url else "localhost"
        return self.preview_domain or None

    @property
    def pools(self) -> dict[str | None, int]:
        """How many containers the warm pool has ready for new sandboxes, by the name of their base image. The
        key None means the base image in the configuration.
        """
        sizes = [(None, self.sandbox_pool), *self.sandbox_pools.items()]
        return {base: size for base, size in sizes if size}

    @property
    def base_url(self) -> str:
        return (self.public_url or f"http://localhost:{self.port}").rstrip("/")

    @property
    def database_file(self) -> Path | None:
        """The path of the SQLite file of this installation. None if `database_url` names another database."""
        return None if self.database_url else self.home / "slipway.sqlite3"

    @property
    def is_database_shared(self) -> bool:
        """Whether other app servers may use the same database. True if `database_url` is set."""
        return self.database_file is None

    @property
    def resolved_database_url(self) -> str:
        if self.database_url:
            return self.database_url.get_secret_value()
        return f"sqlite+aiosqlite:///{self.database_file}"


def load_config(**overrides: object) -> Config:
    """Reads the configuration of this process from the environment and returns it. `overrides`: values that
    replace those of the environment; None values are ignored.

    Raises ConfigurationError if a variable is unknown or its value is not valid. The message names each such
    variable, but never contains its value.
    """
    if unknown := unknown_variables(os.environ, Config.model_fields):
        raise ConfigurationError("; ".join(unknown))
    try:
        return Config(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [
            f"SLIPWAY_{'_'.join(str(part) for part in problem['loc']).upper()}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)
        ]
        raise ConfigurationError("; ".join(lines)) from None
    except SettingsError as error:
        raise ConfigurationError(_not_json(str(error))) from None


def _not_json(message: str) -> str:
    """Returns an error sentence for a variable whose value must be JSON but is not. The sentence names the
    variable and shows an example. `message`: the message of the original error.
    """
    field = next((name for name in Config.model_fields if f'"{name}"' in message), None)
    if field is None:
        return message
    examples = {
        "sandbox_pools": '{"NAME": 1}',
        "sandbox_hosts": '[{"name": "…", "url": "…", "token_file": "…"}]',
        "oidc_providers": '[{"name": "…", "title": "…", "issuer": "https://…", "client_id": "…"}]',
        "saml_providers": '[{"name": "…", "title": "…", "entity_id": "…", "metadata_url": "https://…"}]',
        "mail": '{"host": "…", "sender": "…"}',
    }
    example = examples.get(field, '["…"]')
    return f"SLIPWAY_{field.upper()} must be JSON, like {example}: write it so, or unset it"
