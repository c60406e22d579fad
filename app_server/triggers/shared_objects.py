"""Bundles the objects that the background jobs of triggers share, such as the database and the HTTP
clients.
"""

from dataclasses import dataclass
from uuid import UUID

import httpx
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import ActorMeans
from app_server.audit.chain import Actor
from app_server.conversations.start.worker import StartWorker
from app_server.conversations.view import Viewer
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.git_hosts.connect import ConnectedHost, GitHosts
from app_server.git_hosts.rate_limits import RateLimits
from app_server.sandboxes.service import Sandboxes
from app_server.triggers.models import Trigger
from app_server.users.models import User


@dataclass(frozen=True)
class Setting:
    """The objects that the background jobs of triggers share, such as the database and the HTTP clients.

    `http`: the HTTP client for calls to git hosts that an administrator of the installation uses. It may call
    any address. `guarded_http`: the HTTP client for calls to git hosts that other users use. It refuses
    addresses in private networks.
    """

    config: Config
    database: Database
    cipher: Cipher
    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    limits: RateLimits
    tokens: HostTokens
    sandboxes: Sandboxes
    start_worker: StartWorker

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.sandboxes)

    def hosts_of(self, user: User) -> GitHosts:
        """Returns an object that finds git hosts and creates the API clients for them. The clients use this
        user's tokens.
        """
        http = self.http if user.administers_installation else self.guarded_http
        return GitHosts(user.id, self.cipher, http, self.limits, self.tokens)

    async def host_of(self, session: AsyncSession, trigger: Trigger, user: User) -> ConnectedHost:
        """Returns the git host of the trigger's repository, with the API client for it. The client uses the
        token of `user`. Raises Forbidden `no_git_credential` if the user has no token for this host.
        """
        return await self.hosts_of(user).at(session, trigger.origin)

    def page_of(self, conversation_id: UUID) -> str:
        return f"{self.config.base_url}/conversations/{conversation_id.hex}"


def trail_of_server(user: User) -> AuditTrail:
    """Returns the object that adds entries to the audit log about actions that the server takes for this
    user. The entries name both: the server as the means, and the user as the actor.
    """
    return AuditTrail(Actor(ActorMeans.SERVER, user_id=user.id, name=user.name))
