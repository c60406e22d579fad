"""Makes, lists and ends read-only links to conversations. Only the owner of a conversation may do this."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import orjson
from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.models import Conversation
from app_server.conversations.sharing.access import Access, require_access
from app_server.conversations.sharing.link_models import ConversationLink
from app_server.conversations.sharing.link_schemas import (
    MAX_FINDINGS,
    MAX_PLACES,
    ConversationLinkInfo,
    CreateConversationLink,
    SecretFinding,
    SecretPlace,
)
from app_server.conversations.sharing.link_view import shown_event
from app_server.conversations.sharing.own_secrets import own_secrets
from app_server.conversations.sharing.secret_scan import Match, SecretScan
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict, NotFound
from app_server.events import log
from app_server.users.models import User
from app_server.users.tokens import new_token, token_hash

MAX_LINKS = 20
MAX_SCANNED_CHARACTERS = 64 * 1024**2
_PAGE = 100
_TOUCH_INTERVAL = timedelta(minutes=1)


def link_info(link: ConversationLink) -> ConversationLinkInfo:
    return ConversationLinkInfo(
        id=link.id,
        name=link.name,
        created_at=link.created_at,
        expires_at=link.expires_at,
        last_used_at=link.last_used_at,
        is_active=link.expires_at > now(),
    )


async def links_of(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> Sequence[ConversationLink]:
    """Returns the read-only links of the conversation, the newest first. Raises NotFound if the user may not
    see the conversation. Raises Forbidden `conversation_access_missing` if the user is not its owner.
    """
    await require_access(session, user_id, conversation_id, Access.OWN)
    query = select(ConversationLink).where(ConversationLink.conversation_id == conversation_id)
    return (await session.scalars(query.order_by(ConversationLink.created_at.desc()))).all()


@dataclass
class Scanned:
    """The result of a search for secrets in a conversation: the secrets that were found in its title and in
    the events up to the position `through`. `title`: the title of the conversation. `occurrences`: for each
    secret, the first places where it occurs. `counts`: for each secret, how often it occurs.
    """

    through: int
    title: str | None
    occurrences: dict[Match, list[SecretPlace]] = field(default_factory=dict)
    counts: dict[Match, int] = field(default_factory=dict)

    def add(self, seq: int, path: str, match: Match) -> None:
        self.counts[match] = self.counts.get(match, 0) + 1
        occurrences = self.occurrences.setdefault(match, [])
        if len(occurrences) < MAX_PLACES:
            occurrences.append(SecretPlace(seq=seq, path=path))

    @property
    def findings(self) -> list[SecretFinding]:
        numbers: dict[str, int] = {}
        found = []
        for match, occurrences in self.occurrences.items():
            start = f"{match.kind}-{occurrences[0].seq}"
            numbers[start] = numbers.get(start, 0) + 1
            found.append(
                SecretFinding(
                    id=f"{start}-{numbers[start]}",
                    kind=match.kind,
                    name=match.name,
                    excerpt=f"{match.value[:4]}…",
                    count=self.counts[match],
                    places=occurrences,
                )
            )
        return found


async def scan(database: Database, cipher: Cipher, user_id: UUID, conversation_id: UUID) -> Scanned:
    """Searches the conversation for secrets and returns the secrets that were found. Everything that a
    read-only link would show is searched.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not its owner. Raises Conflict `conversation_too_long_to_scan` if the event log is too
    large for the search.
    """
    async with database.read() as session:
        conversation = await require_access(session, user_id, conversation_id, Access.OWN)
        if conversation.log_size > MAX_SCANNED_CHARACTERS:
            raise Conflict(
                "The conversation is too long to be searched for secrets.",
                code="conversation_too_long_to_scan",
                fix="Download it, check it, and pass the file on.",
            )
        last = await log.last_seq(session, conversation_id)
        scanned = Scanned(last, conversation.title)
        scanner = SecretScan(await own_secrets(session, cipher, user_id))
    for path, match in scanner.matches_in(scanned.title, "title"):
        scanned.add(0, path, match)
    for first in range(1, last + 1, _PAGE):
        limit = min(_PAGE, last - first + 1)
        async with database.read() as session:
            bodies = await log.read_bodies(session, conversation_id, from_seq=first, limit=limit)
        # Searching takes the time of many requests.
        await asyncio.to_thread(_search, scanner, scanned, first, bodies)
    return scanned


def require_confirmed(scanned: Scanned, confirmed: Iterable[str]) -> list[SecretFinding]:
    """Checks that the owner has agreed to show all secrets that were found in the conversation, and returns
    these secrets. `confirmed`: the ids of the secrets that the owner agrees to show. Raises Conflict
    `secrets_found`, with all secrets in `findings`, if the id of a found secret is not in `confirmed`. Raises
    Conflict `too_many_secrets_found` if there are more than 100 secrets.
    """
    findings = scanned.findings
    if len(findings) > MAX_FINDINGS:
        raise Conflict(
            f"The conversation shows {len(findings)} secrets, too many to look at one by one.",
            code="too_many_secrets_found",
            fix="Download the conversation, check it, and pass the file on.",
            findings=[one.model_dump() for one in findings[:MAX_FINDINGS]],
        )
    if {one.id for one in findings} - set(confirmed):
        raise Conflict(
            "The conversation shows what looks like secrets. Everyone with the link could read them.",
            code="secrets_found",
            fix="Look at each of them. Send the ids of those that may be shown as `confirmed_findings`.",
            findings=[one.model_dump() for one in findings],
        )
    return findings


async def create_link(
    session: AsyncSession,
    user_id: UUID,
    trail: AuditTrail,
    conversation_id: UUID,
    wanted: CreateConversationLink,
    scanned: Scanned,
) -> tuple[ConversationLink, str]:
    """Makes a read-only link to the conversation. Returns the link and its token. Only a hash of the token is
    stored. `scanned`: the secrets that were found in the conversation.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not its owner. Raises Conflict `too_many_links` if the conversation has the maximum number
    of links. Raises Conflict `secrets_found` if the owner has not agreed to show every found secret. Raises
    Conflict `too_many_secrets_found` if there are more than 100 secrets.
    """
    await require_access(session, user_id, conversation_id, Access.OWN)
    findings = require_confirmed(scanned, wanted.confirmed_findings)
    count = select(func.count()).where(ConversationLink.conversation_id == conversation_id)
    if (await session.scalar(count) or 0) >= MAX_LINKS:
        raise Conflict(
            f"A conversation has at most {MAX_LINKS} links.",
            code="too_many_links",
            fix="Remove one that is not needed any more.",
        )
    token = new_token()
    link = ConversationLink(
        conversation_id=conversation_id,
        name=wanted.name,
        token_hash=token_hash(token),
        scanned_through=scanned.through,
        expires_at=now() + timedelta(hours=wanted.hours),
    )
    session.add(link)
    await session.flush()
    trail.record(
        session,
        AuditAction.CONVERSATION_LINK_CREATED,
        (AuditTarget.CONVERSATION, conversation_id),
        link_id=link.id.hex,
        name=wanted.name or None,
        hours=wanted.hours,
        confirmed_findings=[one.id for one in findings] or None,
    )
    return link, token


async def end_link(
    session: AsyncSession, user_id: UUID, trail: AuditTrail, conversation_id: UUID, link_id: UUID
) -> None:
    """Deletes a read-only link, so that people can no longer open it. Raises NotFound if the user may not see
    the conversation. Raises NotFound `link_not_found` if the conversation has no such link. Raises Forbidden
    `conversation_access_missing` if the user is not the owner of the conversation.
    """
    await require_access(session, user_id, conversation_id, Access.OWN)
    statement = delete(ConversationLink).where(
        ConversationLink.id == link_id, ConversationLink.conversation_id == conversation_id
    )
    if await session.scalar(statement.returning(ConversationLink.id)) is None:
        raise NotFound("The conversation has no such link.", code="link_not_found")
    target = (AuditTarget.CONVERSATION, conversation_id)
    trail.record(session, AuditAction.CONVERSATION_LINK_REVOKED, target, link_id=link_id.hex)


async def open_link(session: AsyncSession, token: str) -> tuple[ConversationLink, Conversation]:
    """Returns the read-only link with this token, and the conversation to which the link leads.

    Raises NotFound `link_ended` if there is no such link, if the link has expired, or if the owner of the
    conversation is disabled.
    """
    query = valid_links().where(ConversationLink.token_hash == token_hash(token))
    found = (await session.execute(query)).one_or_none()
    if found is None:
        raise NotFound(
            "This link has ended, or it never existed.",
            code="link_ended",
            fix="Ask the person who sent it for another one.",
        )
    return found[0], found[1]


def valid_links() -> Select[ConversationLink, Conversation]:
    """Returns the SQL query for all read-only links that are valid now, each with its conversation."""
    return (
        select(ConversationLink, Conversation)
        .join(Conversation, Conversation.id == ConversationLink.conversation_id)
        .join(User, User.id == Conversation.user_id)
        .where(
            ConversationLink.expires_at > now(),
            Conversation.deleted_at.is_(None),
            User.disabled_at.is_(None),
        )
    )


async def touch_link(database: Database, link: ConversationLink) -> None:
    """Stores the current time as the time when the link was last used. Does nothing if the stored time is
    less than a minute old, so that frequent use does not cause many writes.
    """
    if link.last_used_at is not None and now() - link.last_used_at < _TOUCH_INTERVAL:
        return
    async with database.session() as session:
        used = update(ConversationLink).where(ConversationLink.id == link.id)
        await session.execute(used.values(last_used_at=now()))


def _search(scanner: SecretScan, scanned: Scanned, first: int, bodies: Sequence[str]) -> None:
    for seq, body in enumerate(bodies, start=first):
        for path, match in scanner.matches_in(shown_event(orjson.loads(body))):
            scanned.add(seq, path, match)
