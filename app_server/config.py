"""Deploy-time configuration: environment variables `SLIPWAY_*`, read once at start.

What a user edits at run time lives in `settings/`, not here.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app_server.errors import ConfigurationError

SandboxChoice = Literal["auto", "docker", "process"]
SandboxFlavour = Literal["full", "slim"]
DEFAULT_BASE_IMAGE = "debian:bookworm-slim"


class Config(BaseSettings):
    """One typed object for the whole process. Wrong values stop the start (see `load_config`)."""

    model_config = SettingsConfigDict(env_prefix="SLIPWAY_", frozen=True, extra="ignore")

    home: Path = Path("~/.slipway")
    """Where everything that must survive is kept: database, keys, process sandboxes."""

    host: str = "127.0.0.1"
    port: int = Field(default=3000, ge=1, le=65535)
    inner_port: int = Field(default=3001, ge=1, le=65535)
    """Port of the listener that sandboxes report to. Fixed, so that a sandbox finds a restarted server."""

    public_url: str | None = None
    """How browsers reach us when that is not http://localhost:PORT (a reverse proxy, another host)."""

    allowed_hosts: list[str] = []
    """Further names accepted in the Host header, beside localhost and the host of `public_url`."""

    database_url: SecretStr | None = None
    """SQLAlchemy URL; `postgresql+asyncpg://…` for teams. Default: a SQLite file in `home`."""

    redis_url: SecretStr | None = None
    """Fan-out across several app servers. Default: inside this process."""

    encryption_keys: list[SecretStr] = []
    """Fernet keys, newest first. Default: `home`/encryption.key, made at the first start."""

    sandbox: SandboxChoice = "auto"
    process_isolation: Literal["auto", "bubblewrap", "none"] = "auto"
    """Walls around process sandboxes: where bubblewrap works, always (a start fails without it), or never."""

    sandbox_image: str | None = None
    """A ready image to use instead of building our own."""

    sandbox_flavour: SandboxFlavour = "full"
    """What our own image holds: a browser and fonts too, or not."""

    sandbox_base_image: str = Field(default=DEFAULT_BASE_IMAGE, pattern=r"^[a-z0-9][A-Za-z0-9._/:@-]*$")
    """What our own image is built on. Known by this name alone: a changed base needs another."""

    sandbox_runtime: str | None = None
    """What containers run in, by its name in the engine: runsc (gVisor), kata, sysbox-runc. Default: runc."""

    sandbox_memory_bytes: int = Field(default=4 * 1024**3, ge=256 * 1024**2)
    sandbox_cpus: float = Field(default=2.0, gt=0)
    sandbox_pids: int = Field(default=1024, ge=64)
    sandbox_disk_bytes: int | None = Field(default=None, ge=256 * 1024**2)
    """How much the workspace of a new container can hold. Default: as much as the engine's disk."""

    sandbox_start_timeout_seconds: float = Field(default=120.0, gt=0)
    stop_sandboxes_on_exit: bool = False
    """Whether containers end with the server and come back at its next start. Processes always do."""

    sandbox_idle_minutes: float | None = Field(default=None, gt=0)
    """After so long without work a sandbox is put to sleep; a message wakes it. Default: never."""

    sandbox_frozen_minutes: float = Field(default=60.0, ge=0)
    """For how long a sleeping container keeps its memory and its processes. Then it ends; its files stay."""

    skills_path: Path | None = None
    """Skills for everybody: its directories `organisation` and `public` hold `*.md` and `NAME/SKILL.md`."""

    clone_timeout_seconds: float = Field(default=600.0, gt=0)
    setup_script_timeout_seconds: float = Field(default=600.0, gt=0)

    max_body_bytes: int = Field(default=20 * 1024**2, ge=1024)
    max_message_bytes: int = Field(default=1024**2, ge=1024)
    llm_timeout_seconds: float = Field(default=600.0, gt=0)
    session_days: int = Field(default=30, ge=1)

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

    @property
    def base_url(self) -> str:
        return (self.public_url or f"http://localhost:{self.port}").rstrip("/")

    @property
    def database_file(self) -> Path | None:
        """Our own SQLite file; None when `database_url` names another database."""
        return None if self.database_url else self.home / "slipway.sqlite3"

    @property
    def resolved_database_url(self) -> str:
        if self.database_url:
            return self.database_url.get_secret_value()
        return f"sqlite+aiosqlite:///{self.database_file}"


def load_config(**overrides: object) -> Config:
    """The configuration of this process.

    Raises ConfigurationError with one sentence per wrong variable, never with its value.
    """
    try:
        return Config(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [
            f"SLIPWAY_{'_'.join(str(part) for part in problem['loc']).upper()}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)
        ]
        raise ConfigurationError("; ".join(lines)) from None
