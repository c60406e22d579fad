"""The request and reply bodies of the routes for sandboxes. They have the same form as in the OpenHands app
server, so that clients of OpenHands can use Slipway.
"""

from pydantic import BaseModel

from agent_runtime.wire import RuntimePluginInfo
from app_server.core.database import Id, Timestamp
from app_server.core.pagination import Page
from app_server.http.strict_body import StrictBody
from app_server.sandbox_records.models import Sandbox, SandboxStatus


class ExposedUrl(BaseModel):
    """The URL of one port of a sandbox. A request to this URL goes to the gateway of the app server, which
    forwards it to the sandbox.

    `name`: what answers on the port. `AGENT_SERVER` is the agent server; requests to it need the
    `session_api_key` of SandboxInfo in the header `X-Session-API-Key`. All other URLs need no key: anyone who
    has such a URL can use it until it expires.
    """

    name: str
    url: str
    port: int


class SandboxInfo(BaseModel):
    """A sandbox, as the API shows it to a client.

    `exposed_urls`: the URLs of the sandbox's ports; null if the sandbox does not run or the caller has no
    permission to work in it. URLs that need no key expire after 12 hours. `session_api_key`: a key for the
    URL `AGENT_SERVER`; null if `exposed_urls` is null. The key expires at a full hour, so it is valid for 11
    to 12 hours. The key and the URLs without key become invalid earlier if the sandbox is deleted, or if the
    caller's browser session or API key ends. This key is not the sandbox's session key, which only the app
    server and the sandbox use.
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
    """The description of a runtime plugin (a program such as VS Code) that was started. `path`: the URL path
    that the client sends when it creates a link to the plugin's port.
    """

    path: str


class ResumeSandbox(StrictBody):
    """A request to start a sandbox that sleeps, is archived or has failed.

    `from_backup`: has an effect only if the host of the sandbox cannot be reached, and the sandbox's
    conversations have events that are later than its last backup. If true, the sandbox starts from this
    backup. The events are kept, but file changes that were made after the backup are lost. If false, the
    request is refused.
    """

    from_backup: bool = False


class SandboxResumed(BaseModel):
    success: bool = True


class SandboxPaused(BaseModel):
    success: bool = True


class SandboxArchived(BaseModel):
    success: bool = True


SandboxPage = Page[SandboxInfo]
