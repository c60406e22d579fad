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
    """The directory with the server's data: database, keys, files of sandboxes that run as processes."""

    host: str = "127.0.0.1"
    """The address that the server listens on. `0.0.0.0` means all IPv4 addresses of the machine."""

    port: int = Field(default=3000, ge=1, le=65535)
    """The port for browsers and API clients: pages, REST API and streams."""

    inner_port: int = Field(default=3001, ge=1, le=65535)
    """The port at which sandboxes call the server. Do not change it while sandboxes exist: they call this
    port again after the server has restarted.
    """

    public_url: str | None = None
    """The URL at which browsers reach the server, if not http://localhost:PORT, as behind a reverse proxy."""

    allowed_hosts: list[str] = []
    """Names that requests may have in the Host header, besides localhost and the host of `public_url`."""

    trusted_proxies: list[str] = []
    """Addresses and networks of reverse proxies. The server takes the IP address of a client from their
    `X-Forwarded-For` header.
    """

    preview_domain: str | None = Field(default=None, pattern=r"^([a-z0-9-]+(\.[a-z0-9-]+)*)?$")
    """Parent domain for web pages of sandboxes: each port of a sandbox gets a host name below it, which needs
    wildcard DNS and TLS. Default: localhost if `public_url` is not set, otherwise no host names. Empty: no
    host names. Without a host name, a page is reached below a path of the server, in an opaque origin.
    """

    database_url: SecretStr | None = None
    """The SQLAlchemy URL of a PostgreSQL database, `postgresql+asyncpg://…`. Default: an SQLite file in
    `home`.
    """

    redis_url: SecretStr | None = None
    """The URL of Redis, with which several app servers share live messages to clients. Default: no Redis."""

    tavily_api_key: SecretStr | None = None
    """The API key of the search service Tavily, for the tool `web_search`. Default: no such tool."""

    tavily_url: str = Field(default="https://api.tavily.com", pattern=r"^https?://")
    """The URL of the search service Tavily."""

    encryption_keys: list[SecretStr] = []
    """Fernet keys that encrypt stored secrets, newest first. Default: a new key in `home`/encryption.key."""

    sandbox: SandboxChoice = "auto"
    """Where sandboxes run. docker: in containers; process: as processes of this machine; remote: on the hosts
    of SLIPWAY_SANDBOX_HOSTS (see sandbox-service.md); auto: docker if a Docker engine answers, else process.
    """

    process_isolation: Literal["auto", "bubblewrap", "none"] = "auto"
    """Isolation of process sandboxes. auto: with bubblewrap if it works on this machine, otherwise none;
    bubblewrap: always with bubblewrap, and sandboxes do not start if it does not work; none: no isolation.
    """

    sandbox_image: str | None = None
    """The name of a ready image for sandboxes. Default: Slipway builds an image."""

    sandbox_flavour: SandboxFlavour = "full"
    """Which variant of Slipway's sandbox image is used. full: with a browser and fonts; slim: without."""

    sandbox_base_image: str = Field(default=DEFAULT_BASE_IMAGE, pattern=IMAGE_NAME)
    """The base image of Slipway's sandbox image. If its content changes, it needs another name, because
    builds are identified by the name. `slipway images build --dockerfile` builds a base image and prints its
    name.
    """

    sandbox_specs: Literal["nobody", "admins", "everybody"] = "admins"
    """Which users may choose a base image for sandboxes. These users can run builds on the container engine,
    with access to the network.
    """

    sandbox_build_timeout_seconds: float = Field(default=1800.0, gt=0)
    """Maximum time in seconds for the build or download of a base image that a user has chosen."""

    sandbox_build_max_bytes: int = Field(default=10 * 1024**3, ge=1024**2)
    """Maximum size, in bytes, of a base image that a user has chosen."""

    sandbox_build_network: Literal["default", "none"] = "default"
    """The network of builds from a user's Dockerfile. default: the engine's network; none: no network."""

    sandbox_runtime: str | None = None
    """The container runtime, by its name in the engine: runsc (gVisor), kata, sysbox-runc. Default: runc."""

    sandbox_memory_bytes: int = Field(default=4 * 1024**3, ge=256 * 1024**2)
    """Maximum memory of one sandbox, in bytes."""

    sandbox_memory_total_bytes: int | None = Field(default=None, ge=256 * 1024**2)
    """Maximum sum, in bytes, of the memory limits of all running sandboxes. Further sandboxes wait. Default:
    one and a half times the memory of the Docker engine's machine; no maximum for process sandboxes.
    """

    sandbox_cpus: float = Field(default=2.0, gt=0)
    """Maximum number of processors that one sandbox uses."""

    sandbox_pids: int = Field(default=1024, ge=64)
    """Maximum number of processes in one sandbox."""

    sandbox_disk_bytes: int | None = Field(default=20 * 1024**3, ge=256 * 1024**2)
    """Maximum size of a workspace in bytes; 0: no limit. If set, a sandbox starts only if its workspace can
    be a separate disk. If not set, the limit is 20 GiB, and a sandbox that is too large and has no separate
    disk is stopped.
    """

    sandbox_pool: int = Field(default=0, ge=0, le=20)
    """How many containers are started in advance for new conversations. Each one is paused and uses 47 MB of
    memory.
    """

    sandbox_pools: dict[
        Annotated[str, Field(max_length=250, pattern=IMAGE_NAME)], Annotated[int, Field(ge=0, le=20)]
    ] = Field(default={}, max_length=20)
    """How many containers are started in advance for each base image that users have chosen: `{"NAME": 1}`.
    """

    sandbox_start_timeout_seconds: float = Field(default=120.0, gt=0)
    """Maximum time in seconds until the agent server of a new sandbox answers."""

    stop_sandboxes_on_exit: bool = False
    """Whether the containers of sandboxes stop and start with the server. Process sandboxes always do so."""

    sandbox_hosts: list[SandboxHost] = []
    """With SLIPWAY_SANDBOX=remote: the hosts of the sandboxes, each `{"name", "url", "token_file"}`."""

    sandbox_hosts_ca: Path | None = None
    """A PEM file with CA certificates for the sandbox hosts, in addition to those the system trusts."""

    sandbox_host_patience_seconds: float = Field(default=20.0, gt=0)
    """Time in seconds without an answer after which a sandbox host and its sandboxes count as lost."""

    sandbox_backup_minutes: float | None = Field(default=None, gt=0)
    """After this time without work, in minutes, files of a sandbox are backed up in the archive, in case its
    host is lost. After new work, they are backed up again. A backup pauses the sandbox. Default: never.
    """

    password_sign_in: bool = True
    """Whether people can set a password and sign in with it: see accounts.md."""

    sandbox_host_port: int = Field(default=3010, ge=1, le=65535)
    """For `slipway sandbox-host`: the port on which it accepts connections from app servers."""

    sandbox_host_certificate: Path | None = None
    """For `slipway sandbox-host`: the PEM file with its TLS certificate. Default: plain HTTP."""

    sandbox_host_key: Path | None = None
    """For `slipway sandbox-host`: the PEM file with the key of its certificate."""

    session_key_minutes: float = Field(default=60.0, gt=0)
    """How long a sandbox's session key is valid, in minutes. The key authorises the sandbox at the server. It
    is replaced after half of this time while the sandbox runs.
    """

    sandbox_idle_minutes: float | None = Field(default=None, gt=0)
    """After this time without work, in minutes, a sandbox is put to sleep. A message wakes it. Default:
    never.
    """

    sandbox_max_conversations: int = Field(default=20, ge=1)
    """Maximum number of conversations in a sandbox, if the user lets conversations share sandboxes."""

    sandbox_frozen_minutes: float = Field(default=60.0, ge=0)
    """How long a sleeping container keeps its memory and processes, in minutes. After this time, the
    container is stopped, and its files are kept.
    """

    egress: Literal["none", "allowlist", "open"] = "allowlist"
    """What sandboxes may call. none: no host; allowlist: listed hosts; open: all public hosts. Users can
    change this for their sandboxes and for single repositories.
    """

    egress_hosts: list[str] = []
    """Hosts that are allowed besides package registries and git hosts: `NAME`, `*.NAME`, `NAME:PORT`."""

    egress_private: list[str] = []
    """Private networks, IP addresses and hosts that sandboxes may call if the network settings of the user or
    the server allow the host. Default: none.
    """

    package_cache_bytes: int = Field(default=4 * 1024**3, ge=0)
    """Maximum size, in bytes, of the cached packages of each user; 0: nothing is cached."""

    package_cache_hosts: list[str] = []
    """Private package hosts whose files are cached, besides the public registries. Only files with a version
    in the name are cached.
    """

    sandbox_archive_days: float | None = Field(default=None, gt=0)
    """After a sandbox has slept for this time, in days, its files are moved to an archive. Default: never."""

    sandbox_archive_max_bytes: int = Field(default=50 * 1024**3, ge=1024**2)
    """Maximum uncompressed size, in bytes, of an archive or a snapshot of a workspace."""

    skills_path: Path | None = None
    """A directory with skills for all users. Its subdirectories `organisation` and `public` contain the
    skills, as `*.md` or `NAME/SKILL.md`.
    """

    clone_timeout_seconds: float = Field(default=600.0, gt=0)
    """Maximum time in seconds to clone a repository."""

    setup_script_timeout_seconds: float = Field(default=600.0, gt=0)
    """Maximum time in seconds that the setup script of a repository may run."""

    max_body_bytes: int = Field(default=20 * 1024**2, ge=1024)
    """Maximum size, in bytes, of the body of a request to the routes of conversations. The maximum is 2 MiB
    for other routes, and 64 KiB for requests without a sign-in.
    """

    max_message_bytes: int = Field(default=1024**2, ge=1024)
    """Maximum size of the text of one message, in bytes."""

    llm_timeout_seconds: float = Field(default=600.0, gt=0)
    """Maximum time in seconds that a model may send no data during a call."""

    llm_calls_per_sandbox: int = Field(default=24, ge=1)
    """Maximum number of concurrent model calls of a sandbox. More calls wait for 30 seconds, then get 429."""

    llm_calls_per_user: int = Field(default=96, ge=1)
    """Maximum number of concurrent model calls of all sandboxes of a user, including the user's tests of
    models. More calls wait for 30 seconds, then get 429.
    """

    mail: MailServer | None = None
    """The server that sends e-mail, `{"host", "sender", …}`: see webhooks.md. Default: no e-mail is sent."""

    audit_retention_days: int = Field(default=0, ge=0)
    """How long the audit log keeps an entry, in days; 0: forever."""

    session_days: int = Field(default=30, ge=1)
    """How many days a browser stays signed in after its last use."""
    session_max_days: int = Field(default=180, ge=1)
    """After how many days a browser must sign in again, even if it is used."""

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
        absolute = path.expanduser().absolute()
        if not absolute.is_dir():
            raise ValueError("there is no such directory")
        return absolute

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
    def _private(cls, networks_and_hosts: list[str]) -> list[str]:
        parse_named(networks_and_hosts)
        return networks_and_hosts

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
        """The sizes of the warm pools: how many containers are started in advance for new sandboxes. Each key
        is the name of a base image. The key None means the base image in the configuration.
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
    """Returns an error sentence for a variable whose value must be JSON but is not, with the variable's name
    and an example. `message`: the original error message; returned unchanged if it names no field of Config.
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
