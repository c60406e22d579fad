"""Finds the repositories that git in a sandbox may reach. These are the repositories of the conversations in
the sandbox. A repository may have several URLs, for example for HTTPS and SSH.
"""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import GitRemote, GitRemotes, GitSigning
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.conversations.repositories.submodules import KeptSubmodule
from app_server.core.encryption import Cipher
from app_server.git.address import Address, parse_address
from app_server.git.credentials import provider_with_token
from app_server.git.providers import GitProvider
from app_server.git_proxy.access import ConversationRepository, proxied_name
from app_server.sandbox_records.models import Sandbox


async def git_work_of(
    session: AsyncSession, cipher: Cipher, sandbox: Sandbox
) -> Sequence[ConversationRepository]:
    """Returns the repositories that git in the sandbox may reach: the repositories of all conversations in
    the sandbox. For each conversation, these are the repositories of its start request, the repository that
    the user has selected later, and the submodules that may be fetched.

    If a stored URL contains a password, the returned URL also contains it.
    """
    query = (
        select(Conversation, StartTask)
        .join(StartTask, StartTask.id == Conversation.id)
        .where(
            Conversation.sandbox_id == sandbox.id,
            Conversation.user_id == sandbox.user_id,
            or_(Conversation.selected_repository.is_not(None), Conversation.first_repository.is_not(None)),
            Conversation.deleted_at.is_(None),
        )
    )
    rows = (await session.execute(query)).all()
    return [
        *(
            ConversationRepository(parse_address(repository, provider), branch)
            for conversation, task in rows
            for repository, branch, provider in named_by(cipher, conversation, task)
        ),
        *(
            ConversationRepository(
                parse_address(one.repository), None, is_submodule=True, uses_token=one.uses_token
            )
            for conversation, _ in rows
            for one in KeptSubmodule.all_of(conversation.submodules)
            if one.reason is None
        ),
    ]


async def providers_with_token(session: AsyncSession, conversation: Conversation) -> frozenset[GitProvider]:
    """Returns the git providers (kinds of git hosts, such as GitHub) for which the conversation's user has a
    token. Checks only the providers of the conversation's repositories.
    """
    named = [
        (conversation.selected_repository, conversation.git_provider),
        *(
            (one.repository, one.git_provider)
            for one in KeptRepository.all_of(conversation.more_repositories)
        ),
    ]
    found = [await provider_with_token(session, conversation.user_id, *one) for one in named]
    return frozenset(provider for provider in found if provider is not None)


def named_by(
    cipher: Cipher, conversation: Conversation, task: StartTask
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yields the repositories that the user has named for the conversation, in the start request or later.
    Each repository is a tuple of its URL or name, its branch, and its git provider (the kind of git host).
    The branch and the git provider may be None.

    `task`: the start task of the conversation, which contains the start request. `cipher`: decrypts the URL
    of the first repository, which is stored encrypted if it contains a password.
    """
    for one in KeptRepository.all_of(conversation.more_repositories):
        yield one.repository, one.branch, one.git_provider
    named_later = conversation.first_repository is not None
    branch, provider = conversation.selected_branch, conversation.git_provider
    if conversation.selected_repository and named_later:
        yield conversation.selected_repository, branch, provider
    asked = task.request
    if named_later:
        branch, provider = asked.get("selected_branch"), asked.get("git_provider")
    if encrypted := task.encrypted_repository_url:
        yield cipher.decrypt(encrypted), branch, provider
    elif first := asked.get("selected_repository") if named_later else conversation.selected_repository:
        yield first, branch, provider


def remotes_of(work: Iterable[ConversationRepository], signing_key: str | None) -> GitRemotes:
    """Returns the git settings for a sandbox: the repositories that git in the sandbox can reach, and the key
    for signing commits. Git in the sandbox reaches these repositories only through the app server. All other
    repositories are unreachable.

    There is one entry for each repository that the app server can reach over HTTP. The entry lists all URLs
    that mean this repository, such as its HTTPS and SSH URLs, so that git recognises each of them.

    `work`: the repositories of the conversations in the sandbox. `signing_key`: the public key of the key
    pair that signs commits; None if commits are not signed.
    """
    named = ((proxied_name(one.address), one.address) for one in work)
    spelled: dict[str, tuple[str, ...]] = {}
    for name, address in named:
        if name:
            spelled[name] = tuple(dict.fromkeys((*spelled.get(name, ()), *_spellings(address))))
    return GitRemotes(
        remotes=tuple(GitRemote(name=name, addresses=addresses) for name, addresses in spelled.items()),
        signing=GitSigning(public_key=signing_key) if signing_key else None,
    )


def _spellings(address: Address) -> tuple[str, ...]:
    given = address.public_url.removesuffix(".git")
    if address.web_url is None:
        return (given,)
    parts = urlsplit(address.web_url.removesuffix(".git"))
    path = parts.path.strip("/")
    found = (given, parts.geturl(), f"git@{parts.hostname}:{path}", f"ssh://git@{parts.hostname}/{path}")
    return tuple(dict.fromkeys(found))
