"""The objects that the server creates at its start and uses until it ends, such as the database and the HTTP
clients. Routes get these objects as parameters.
"""

import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import httpx
from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.credentials_in_use import Credential, CredentialsInUse
from app_server.conversations.sharing.followers import Followers
from app_server.conversations.sharing.link_readers import LinkReaders
from app_server.conversations.start.worker import StartWorker
from app_server.conversations.titles import Titles
from app_server.core.background import Background
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.jobs.worker import Jobs
from app_server.core.pubsub import PubSub
from app_server.egress.attribution import AttributionOf
from app_server.egress.proxy import EgressProxy
from app_server.events.open_streams import OpenStreams
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.git_hosts.rate_limits import RateLimits
from app_server.git_hosts.suggested_tasks import SuggestedTasks
from app_server.git_proxy.access import Moves, WorkOf
from app_server.http.guarded_client import Guard
from app_server.llm_gateway.caller import CallerOf
from app_server.llm_gateway.limits.calls import Spending
from app_server.llm_gateway.load_limits import CallCapacity
from app_server.llm_gateway.program_routes import ProgramOf
from app_server.mcp.streamable_http import ServedTools
from app_server.mcp_broker.pass_through import Exchanges
from app_server.mcp_servers.grants import Grants
from app_server.mcp_servers.sign_in import SignIns
from app_server.sandbox_records.models import Sandbox
from app_server.sandbox_reports.fairness import Fairness
from app_server.sandboxes.schemas import ExposedUrl
from app_server.sandboxes.service import Sandboxes
from app_server.sign_in.oidc.discovery import Providers
from app_server.sign_in.passwords.hashing import PasswordHashing
from app_server.sign_in.refused_sign_ins import RefusedSignIns
from app_server.sign_in.saml.providers import SamlProviders
from app_server.triggers.receiving import Receiving


@dataclass(frozen=True, kw_only=True)
class ServerState:
    """The objects that the server creates once at its start, one in each field. Routes and other code get
    them from `request.state`, which has this type.

    The last fields, from `git_work_of` on, contain functions. The rules for imports forbid most modules to
    import the modules that define them, for example those in the folder `conversations`. Therefore other
    modules call these functions through the fields.
    """

    config: Config
    database: Database
    cipher: Cipher
    background: Background
    jobs: Jobs
    pubsub: PubSub

    http: httpx.AsyncClient
    guard: Guard
    guarded_http: httpx.AsyncClient
    relay_transport: httpx.AsyncBaseTransport
    trust_of_hosts: ssl.SSLContext | None

    credentials_in_use: CredentialsInUse
    identity_providers: Providers
    saml_providers: SamlProviders
    password_hashing: PasswordHashing
    refused_sign_ins: RefusedSignIns

    sandboxes: Sandboxes
    fairness: Fairness
    egress: EgressProxy

    start_worker: StartWorker
    titles: Titles
    followers: Followers
    link_readers: LinkReaders
    open_streams: OpenStreams

    spending: Spending
    model_call_capacity: CallCapacity

    mcp_for_programs: ServedTools
    mcp_for_agents: ServedTools
    mcp_exchanges: Exchanges
    mcp_grants: Grants
    mcp_sign_ins: SignIns

    git_tokens: HostTokens
    git_moves: Moves
    git_rate_limits: RateLimits
    suggested_tasks: SuggestedTasks
    receiving_deliveries: Receiving

    git_work_of: WorkOf
    llm_caller_of: CallerOf
    program_of: ProgramOf
    attribution_of: AttributionOf
    folder_of: Callable[[AsyncSession, Sandbox, UUID], Awaitable[str | None]]
    works_in: Callable[[AsyncSession, UUID, UUID], Awaitable[bool]]
    owner_of_conversation: Callable[[AsyncSession, UUID], Awaitable[UUID | None]]
    users_with_address: Callable[[AsyncSession, str], Awaitable[Sequence[UUID]]]
    exposed_urls: Callable[[Request, Sandbox, Credential, str | None], list[ExposedUrl]]
    agent_server_key: Callable[[Request, UUID, Credential], str]
