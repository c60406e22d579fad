"""The API's models of sandboxes, in the form of the OpenHands app server."""

from pydantic import BaseModel

from agent_runtime.wire import RuntimePluginInfo
from app_server.core.database import Id, Timestamp
from app_server.core.pagination import Page
from app_server.sandbox_records.models import Sandbox, SandboxStatus


class ExposedUrl(BaseModel):
    """An address through the gateway of a named port.

    `AGENT_SERVER` needs `session_api_key` of the sandbox, in the header `X-Session-API-Key`. Anyone who has
    the `url` of another port can use it until it ends.
    """

    name: str
    url: str
    port: int


class SandboxInfo(BaseModel):
    """A sandbox.

    `exposed_urls`: the addresses of a running sandbox's ports, for callers who may work in it; else null.
    Each link ends like those of `POST …/links`. `session_api_key`: the key for `AGENT_SERVER`, valid for 11
    to 12 hours; null where `exposed_urls` is. It ends with the sandbox and with the caller's sign-in or API
    key. It is not the sandbox's own key, which stays in the app server.
    """

    id: Id
    created_by_user_id: Id
    sandbox_spec_id: str
    status: SandboxStatus
    session_api_key: str | None = None
    exposed_urls: list[ExposedUrl] | None = None
    created_at: Timestamp

    @classmethod
    def of(
        cls, sandbox: Sandbox, exposed_urls: list[ExposedUrl] | None, key: str | None = None
    ) -> "SandboxInfo":
        return cls(
            id=sandbox.id,
            created_by_user_id=sandbox.user_id,
            sandbox_spec_id=sandbox.spec_id,
            status=sandbox.status,
            session_api_key=key,
            exposed_urls=exposed_urls,
            created_at=sandbox.created_at,
        )


class RuntimePluginStarted(RuntimePluginInfo):
    """A started plugin. path: the path that a link to its port should have."""

    path: str


class ResumeSandbox(BaseModel):
    """from_backup: also resumes if the host is lost and the backup is older than the conversation's log.

    The log stays as it is; the files are those of the backup.
    """

    from_backup: bool = False


class SandboxResumed(BaseModel):
    success: bool = True


class SandboxPaused(BaseModel):
    success: bool = True


class SandboxArchived(BaseModel):
    success: bool = True


SandboxPage = Page[SandboxInfo]
