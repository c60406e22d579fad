"""The response model of the routes for users' decisions about which programs from repositories may run."""

from pydantic import BaseModel, ConfigDict

from agent_runtime.wire import ExecutableKind, ProjectExecutable
from app_server.core.database import Id, Timestamp
from app_server.trust_grants.models import Decision


class ConsentInfo(BaseModel):
    """A decision of the user about one part of a repository that runs programs if the user allows it, such as
    a hook or an MCP server. The user has allowed or refused this part.

    The decision applies to one version only. `repository`: the repository, such as `github.com/owner/name`.
    `path`: the file that defines the part. `hash`: a SHA-256 hash that identifies the version. `offer`: the
    description of the part that Slipway showed to the user for the decision.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    repository: str
    kind: ExecutableKind
    path: str
    name: str
    hash: str
    decision: Decision
    offer: ProjectExecutable
    created_at: Timestamp
