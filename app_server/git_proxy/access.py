"""Identifies the sandbox that sends a git request. Decides which repository the sandbox may use, and whether
it may push to this repository.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.background import Background
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError, Forbidden, Unavailable
from app_server.git.address import Address
from app_server.git.credentials import push_scope_of
from app_server.git.redirects import require_member_of_moved
from app_server.git_proxy import push_log as pushes
from app_server.git_proxy.commands import Command
from app_server.git_proxy.refusal import Refusal
from app_server.git_proxy.upstream import UpstreamRepository
from app_server.http.additional_trust import trusting
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.auth import sandbox_of
from app_server.users.models import User
from app_server.users.outgoing import http_of

LOCAL = "local"
"""The first part of the names of repositories on the app server's machine. In the names of other
repositories, the first part is the host.
"""

MAX_MOVES = 1000


@dataclass(frozen=True)
class ConversationRepository:
    """A repository that a conversation works on. `base_branch`: the branch that the user chose to begin from;
    None if the user chose no branch. `is_submodule`: whether the repository is a submodule; agents may only
    read submodules. `uses_token`: whether requests for this repository are sent with the user's token for the
    git host. It is False for a submodule that has another owner than its parent repository.
    """

    address: Address
    base_branch: str | None
    is_submodule: bool = False
    uses_token: bool = True


WorkOf = Callable[[AsyncSession, Cipher, Sandbox], Awaitable[Sequence[ConversationRepository]]]
"""A function that returns the repositories of a sandbox's conversations. It is stored in the server's state,
because this package may not import the package of conversations.
"""


class Moves:
    """A cache of the redirects of repositories. It stores the new address if a git host redirects a sandbox's
    request for a repository. Later requests of this sandbox go directly to the new address. The cache holds
    at most MAX_MOVES redirects; a further one replaces the oldest.
    """

    def __init__(self) -> None:
        self._addresses: dict[tuple[UUID, str], str] = {}

    def remember(self, sandbox_id: UUID, url: str, address: str) -> None:
        self._addresses.pop((sandbox_id, url), None)
        if address != url:
            self._addresses[sandbox_id, url] = address
        if len(self._addresses) > MAX_MOVES:
            del self._addresses[next(iter(self._addresses))]

    def current_address(self, sandbox_id: UUID, url: str) -> str:
        return self._addresses.get((sandbox_id, url), url)


@dataclass(frozen=True)
class RepositoryAccess:
    """The permission of one sandbox to use one repository, together with the data that are needed to forward
    one git request.
    """

    sandbox: Sandbox
    target: UpstreamRepository
    database: Database
    background: Background
    moves: Moves
    http: httpx.AsyncClient
    """The HTTP client for the git host. If the sandbox's user is not an administrator, the client refuses
    private network addresses.
    """

    @classmethod
    async def of(cls, request: Request, name: str) -> "RepositoryAccess":
        """Checks that a sandbox may use a repository, and returns the RepositoryAccess for the sandbox's git
        request. `request`: contains the session key of the sandbox, by which Slipway recognises the sandbox.
        `name`: the repository as `host/owner/name`, with or without `.git`.

        Raises Refusal if the key is not valid, or if no conversation in the sandbox works on the repository.
        Also raises Refusal if the user's token for the git host is no longer valid and cannot be renewed.
        """
        state = request.state
        async with state.database.read() as session:
            try:
                sandbox = await sandbox_of(session, request)
            except Unavailable as error:
                raise Refusal(f"{error.detail} {error.fix}") from error
            if sandbox is None:
                raise Refusal(
                    "The key of this sandbox is wrong or has expired. The user can restart the sandbox."
                )
            work = await state.git_work_of(session, state.cipher, sandbox)
            target, found = await _target(session, sandbox, work, name)
            http = http_of(request, await session.get_one(User, sandbox.user_id))
        try:  # outside of the session: an expired token is renewed at its host
            credentials = (
                await state.git_tokens.credentials(sandbox.user_id, found.address)
                if found.uses_token
                else None
            )
        except AppError as error:
            raise Refusal(f"{error.detail} {error.fix or ''}".strip()) from error
        target = replace(target, credentials=credentials)
        http = trusting(http, credentials.trust if credentials else None)
        return cls(sandbox, target, state.database, state.background, state.git_moves, http)

    @property
    def url(self) -> str:
        """The address of the repository at the git host. If the host has redirected the repository before,
        this is the address after the redirect.
        """
        return self.moves.current_address(self.sandbox.id, self.target.url)

    async def remember(self, address: str) -> None:
        """Stores the address to which the git host has redirected this repository (`address`). Later git
        requests of the sandbox use this address. Raises Refusal if the repository at that address belongs to
        a team and the sandbox's user is not a member of this team.
        """
        if address != self.target.url:
            try:
                await require_member_of_moved(self.database, self.sandbox.user_id, address)
            except Forbidden as error:
                raise Refusal(f"{error.detail} {error.fix}") from error
        self.moves.remember(self.sandbox.id, self.target.url, address)

    def require_writable(self) -> None:
        """Raises Refusal if agents may only read the repository. This is the case if it is a submodule and
        the user has not also selected it as a repository of a conversation.
        """
        if self.target.is_read_only:
            raise Refusal(
                f"{self.target.name} is a submodule, which agents may only read. The user can name it as a "
                "further repository of the conversation."
            )

    async def own_refs(self, commands: Iterable[Command]) -> frozenset[str]:
        refs = [command.ref for command in commands]
        async with self.database.read() as session:
            return await pushes.own_refs(session, self.sandbox.id, self.target.name, refs)

    async def record(
        self, commands: Iterable[Command], reasons: Mapping[str, str] | None = None
    ) -> list[UUID]:
        async with self.database.session() as session:
            return await pushes.record(session, self.sandbox, self.target.name, commands, reasons)

    async def settle(self, ids: Sequence[UUID], outcomes: Mapping[str, str | None]) -> None:
        async with self.database.session() as session:
            await pushes.settle(session, ids, outcomes)


def proxied_name(address: Address) -> str | None:
    """Returns the name that sandboxes use for the repository: `host/owner/name`. For a repository on the app
    server's machine, the name is `local` followed by the path of the repository. Returns None if the
    repository cannot be reached over HTTP.
    """
    if address.local_path is not None:
        return f"{LOCAL}{address.identity}"
    if address.web_url is None:
        return None
    parts = urlsplit(address.web_url)
    return f"{parts.netloc.lower()}/{parts.path.strip('/').removesuffix('.git')}"


async def _target(
    session: AsyncSession, sandbox: Sandbox, work: Sequence[ConversationRepository], name: str
) -> tuple[UpstreamRepository, ConversationRepository]:
    """Finds the repository with this name among the repositories of a sandbox's conversations (`work`).
    Returns the repository at its git host, without credentials, and the item of `work` for this repository.
    `name`: `host/owner/name`, with or without `.git`.

    Raises Refusal if no conversation works on the repository, or if the repository is a local one on the app
    server's machine.
    """
    wanted = name.rstrip("/").removesuffix(".git")
    names = [known for one in work if (known := proxied_name(one.address))]
    alike = [one for one in work if proxied_name(one.address) == wanted]
    if not alike:
        allowed = ", ".join(dict.fromkeys(names)) or "none"
        raise Refusal(f"From here, git reaches the conversation's own repository only ({allowed}).")
    # One of the addresses may contain a password that the others do not have.
    # A repository that is named itself has more rights than a submodule.
    alike.sort(key=lambda one: (one.is_submodule, not one.uses_token))
    found = next((one for one in alike if one.address.has_credentials), alike[0])
    if found.address.local_path is not None:
        raise Refusal(
            "This repository lies on the computer of its user, where git of a sandbox cannot reach it. "
            "Commit here: the user sees and takes over the changes in Slipway."
        )
    address = found.address
    target = UpstreamRepository(
        name=wanted,
        url=str(address.web_url),
        credentials=None,
        scope=await push_scope_of(session, sandbox.user_id, address),
        protected_branches=frozenset(one.base_branch for one in alike if one.base_branch),
        is_read_only=found.is_submodule,
    )
    return target, found
