"""Decides whether a sandbox may call a host, and finds the host's addresses and the credentials for it."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.addresses import BadHost, is_address, is_refused, parse_host, parse_named
from app_server.core.client_concurrency import Turns
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.egress import git_hosts
from app_server.egress.client_connection import ProxyRequest
from app_server.egress.credentials.credentials import Held, held_for
from app_server.egress.credentials.exchange import Exchange, exchange
from app_server.egress.egress_log import EgressTarget
from app_server.egress.pinned_connector import (
    PinnedConnection,
    ProxyTunnel,
    Refused,
    Tls,
    addresses_of,
    connect,
)
from app_server.egress.policy import Policy, Reason
from app_server.egress.settings import policy_of
from app_server.http.guarded_client import FairResolver, Resolver
from app_server.http.outgoing_proxy import Scheme, Upstream, UpstreamProxy
from app_server.mcp_servers.brokered_variables import BrokeredVariable, brokered_variables
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.auth import authenticate_patiently, is_revoked
from app_server.teams.repositories.first_team import put_team_of_sandbox_first

RepositoriesOf = Callable[[AsyncSession, UUID], Awaitable[Sequence[str | None]]]
"""A function that returns the identity (`host/owner/name` or a path) of the repository of each conversation
in a sandbox. The identity is None for a conversation without a repository.
"""

IsPackageHost = Callable[[str, int], bool]

DECIDED_AT_ONCE = 2
"""The maximum number of requests of one sandbox that are checked against the database at the same time."""

_UP = frozenset((SandboxStatus.STARTING, SandboxStatus.RUNNING))


@dataclass(frozen=True)
class AllowedRoute:
    """The route of an allowed request: how the request reaches its host, and what the egress proxy must do
    with it.

    addresses: the checked IP addresses of the host. The list is empty if the app server cannot resolve the
    name; the upstream proxy then resolves it. proxy: the upstream proxy (the outgoing proxy of the server's
    network) to use; None to connect to the host directly. held: the credentials for the host. brokered: the
    secret variables whose values may be sent to the host; the sandbox has only placeholders of them.
    is_git_host: whether the host is a git host of the user, where pushes must use Slipway's git proxy.
    has_packages: whether the host serves package files that can be cached.
    """

    target: EgressTarget
    addresses: list[str]
    proxy: UpstreamProxy | None
    held: Sequence[Held] = field(repr=False)
    brokered: Sequence[BrokeredVariable] = field(default=(), repr=False)
    is_git_host: bool = False
    has_packages: bool = False

    @property
    def must_be_read(self) -> bool:
        """Whether the egress proxy must read each request to this host, also inside TLS. This is needed to
        add credentials, to replace placeholders, and to check requests to git hosts.
        """
        return self.is_git_host or bool(self.held) or bool(self.brokered)

    def held_for(self, asked: ProxyRequest) -> Held | None:
        return next((one for one in self.held if one.opens(asked.path or "")), None)

    def exchange(self, asked: ProxyRequest) -> Exchange:
        """Replaces the placeholders of secret variables (secrets of which the sandbox has only placeholders)
        in the headers of the request `asked` by the real values. Returns the changed headers.
        """
        return exchange(asked.request.headers, self.brokered)

    def check(self, asked: ProxyRequest, replaced: Collection[bytes] = ()) -> None:
        """Checks a request to a git host of the user. Does nothing for other hosts. Raises Refused if the
        request has a credential from inside the sandbox. Also raises Refused if the request may change data
        at the git host and the egress proxy does not add a credential to the request.

        replaced: the names of the headers whose credentials the egress proxy itself sets.
        """
        if self.is_git_host and (reason := git_hosts.refusal(asked, replaced)):
            raise Refused(reason)

    async def connect(self, tls: Tls | None = None) -> PinnedConnection:
        """Connects to the allowed host, through the upstream proxy (the outgoing proxy of the server's
        network) if there is one. tls: None means a connection without TLS. Raises Refused if the connection
        fails.
        """
        tunnel = ProxyTunnel(self.proxy, self.target.host) if self.proxy else None
        return await connect(self.addresses, self.target.port, tls, tunnel)


class PolicyDecisions:
    """The component of the egress proxy that decides whether requests of sandboxes are allowed. It reads the
    settings again for each request, so that a changed setting applies at once.
    """

    def __init__(
        self,
        config: Config,
        database: Database,
        cipher: Cipher,
        repositories_of: RepositoriesOf,
        resolve: Resolver,
        upstream: Upstream,
        is_package_host: IsPackageHost,
    ) -> None:
        self._is_package_host = is_package_host
        self._config = config
        self._database = database
        self._cipher = cipher
        self._repositories_of = repositories_of
        self._resolver = FairResolver(resolve)
        self._decisions = Turns(DECIDED_AT_ONCE)
        self._upstream = upstream
        self._named = parse_named(config.egress_private)

    async def sandbox(self, key: str) -> Sandbox | None:
        """Returns the sandbox that has this session key (the secret with which a sandbox identifies itself).
        Returns None if no sandbox has this key. Raises Unavailable `session_key_expired` if the key has
        expired and is not renewed within some seconds.
        """
        return await authenticate_patiently(self._database, key)

    async def again(self, sandbox: Sandbox | None) -> Sandbox | None:
        """Reads the row of a sandbox from the database again and returns the new row. Returns None if
        `sandbox` is None, or if the sandbox was deleted or its session keys are no longer valid.

        Only the first request of a connection contains a session key. For the later requests, and for
        requests inside a tunnel, the proxy calls this method to check that the sandbox may still use the
        proxy.
        """
        async with self._database.read() as session:
            found = await session.get(Sandbox, sandbox.id) if sandbox else None
        return None if found is None or is_revoked(found) else found

    async def way(self, target: EgressTarget, written: str, scheme: Scheme = "https") -> AllowedRoute:
        """Checks whether a request to `target` is allowed, and returns how the request reaches its host.
        Raises Refused if the request is not allowed.

        written: the host, as the program in the sandbox wrote it. scheme: the scheme of the request's URL; it
        selects the upstream proxy (the outgoing proxy of the server's network). The name of a host is looked
        up in the DNS only if the policy allows the host. If the DNS does not know the name, but an upstream
        proxy is used, the upstream proxy resolves the name.
        """
        try:
            host = parse_host(written)
        except BadHost as error:
            raise Refused(Reason.BAD_HOST) from error
        user_id = target.user_id
        async with self._decisions.of(target.sandbox_id), self._database.read() as session:
            repositories = await self._repositories_of(session, target.sandbox_id)
            await put_team_of_sandbox_first(session, target.sandbox_id)
            variables = await brokered_variables(session, self._cipher, user_id)
            policy = await self._policy(session, user_id, target.sandbox_id, repositories, variables)
            if reason := policy.refusal(host, target.port):
                raise Refused(self._shown_reason(reason, host))
            # Credentials of a repository are added only if all conversations in the sandbox work on this
            # repository.
            repository = repositories[0] if len(set(repositories)) == 1 else None
            held = await held_for(session, self._cipher, user_id, repository, host=host, port=target.port)
            known = await git_hosts.git_hosts_of(session, user_id, repositories)
        proxy = self._upstream.proxy_for(host, scheme)
        try:
            resolve = partial(self._resolver.resolve, target.sandbox_id)
            addresses = await addresses_of(host, resolve, self._named)
        except Refused as refused:
            if proxy is None or refused.reason is not Reason.UNKNOWN_HOST:
                raise
            addresses = []
        is_git_host = any(each.is_at(host, target.port) for each in known)
        has_packages = self._is_package_host(host, target.port)
        return AllowedRoute(
            replace(target, host=host),
            addresses,
            proxy,
            held,
            [variable for variable in variables if variable.goes_to(host, target.port)],
            is_git_host,
            has_packages,
        )

    async def ended(self, sandbox_id: UUID, targets: Collection[EgressTarget]) -> set[EgressTarget]:
        """Returns the elements of `targets` that the sandbox may no longer call. Returns all targets if the
        sandbox is deleted, or is neither starting nor running.

        targets: the hosts and ports of the sandbox's open connections.
        """
        async with self._database.read() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is None or sandbox.status not in _UP:
                return set(targets)
            repositories = await self._repositories_of(session, sandbox_id)
            await put_team_of_sandbox_first(session, sandbox_id)
            variables = await brokered_variables(session, self._cipher, sandbox.user_id)
            policy = await self._policy(session, sandbox.user_id, sandbox_id, repositories, variables)
        return {target for target in targets if policy.refusal(target.host, target.port)}

    def _shown_reason(self, reason: Reason, host: str) -> Reason:
        """Returns the reason for a refusal in the form that is shown to the user.

        For an address that only an administrator can allow, the reason NOT_ALLOWED is replaced by
        PRIVATE_ADDRESS. Without this replacement, the user would be asked to allow an address that the user
        cannot allow.
        """
        is_closed = is_address(host) and is_refused(host, host, self._named)
        return Reason.PRIVATE_ADDRESS if reason is Reason.NOT_ALLOWED and is_closed else reason

    async def _policy(
        self,
        session: AsyncSession,
        user_id: UUID,
        sandbox_id: UUID,
        repositories: Sequence[str | None],
        variables: Sequence[BrokeredVariable],
    ) -> Policy:
        policy = await policy_of(
            session, self._config, user_id, repositories=repositories, sandbox_id=sandbox_id
        )
        return policy.with_hosts([host for variable in variables for host in variable.hosts])
