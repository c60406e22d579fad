"""Collects the facts about an event at a git host. The module decision.py uses these facts to decide what
Slipway does about the event.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.core.database import now
from app_server.git.address import parse_address
from app_server.git.providers import GitProvider
from app_server.git_hosts.schemas import PullRequestState
from app_server.git_hosts.webhooks.events import EventKind, HostEvent, branch_of
from app_server.git_proxy.access import proxied_name
from app_server.git_proxy.models import GitPush, PushOutcome
from app_server.pull_requests.models import ConversationPullRequest
from app_server.triggers.conversation_limit import AT_REST
from app_server.triggers.decision import Action, Known
from app_server.triggers.models import Trigger, TriggerDelivery, TriggeredConversation


@dataclass(frozen=True)
class EventFacts:
    """The facts about one event at a git host, and the database rows from which they were read.

    `link`: the row of the conversation that the trigger has started about the issue, pull request or push;
    None if there is no such conversation. `pull_request`: the row of the event's pull request, if a
    conversation of the trigger's owner has opened it; otherwise None.
    """

    link: TriggeredConversation | None
    pull_request: ConversationPullRequest | None
    known: Known


def is_about(trigger: Trigger, event: HostEvent) -> bool:
    """Returns whether the event belongs to the trigger's repository. An event of Azure DevOps that names only
    a project counts as belonging to all repositories of this project. Upper and lower case do not matter.
    """
    own, named = trigger.repository.casefold(), event.repository.casefold()
    is_of_project = trigger.provider is GitProvider.AZURE_DEVOPS and own.startswith(f"{named}/")
    return own == named or is_of_project


async def look_up(
    session: AsyncSession, trigger: Trigger, event: HostEvent, *, login: str, branch: str | None
) -> EventFacts:
    """Reads the facts about an event at the trigger's git host from the database, and returns them.

    `login`: the login name of the account whose token Slipway uses at the git host; only events about
    assignments need it. `branch`: the default branch of the repository; only pushes need it, if the trigger
    names no branch.
    """
    link = await _link(session, trigger, event)
    pull_request = await _pull_request(session, trigger, event)
    own = select(TriggeredConversation.comment_id).where(TriggeredConversation.trigger_id == trigger.id)
    own_comments = await session.scalars(own.where(TriggeredConversation.number == event.number))
    is_own_push = False
    if event.kind is EventKind.PUSHED and event.commit:
        pushed = select(GitPush.id).where(GitPush.new_commit == event.commit).limit(1)
        is_own_push = await session.scalar(pushed) is not None
    known = Known(
        label=trigger.label,
        login=login,
        mention=trigger.mention,
        events=frozenset(trigger.events),
        branch=trigger.branch or branch,
        paths=trigger.paths,
        own_comments={one for one in own_comments if one},
        is_own_push=is_own_push,
        is_our_pull_request=pull_request is not None,
        has_conversation=link is not None,
        corrected=await _corrected(session, trigger, event),
    )
    return EventFacts(link, pull_request, known)


async def corrections(session: AsyncSession, conversation_id: UUID, within: timedelta) -> int:
    """Returns how many times failing checks were sent to the conversation in the recent past. `within`: the
    length of this period, which ends now.
    """
    query = (
        select(func.count())
        .select_from(TriggerDelivery)
        .where(
            TriggerDelivery.conversation_id == conversation_id,
            TriggerDelivery.action == Action.FIX_CHECKS,
            TriggerDelivery.created_at > now() - within,
        )
    )
    return await session.scalar(query) or 0


async def _link(session: AsyncSession, trigger: Trigger, event: HostEvent) -> TriggeredConversation | None:
    query = (
        select(TriggeredConversation, Conversation.execution_status)
        .join(Conversation, Conversation.id == TriggeredConversation.conversation_id)
        .where(TriggeredConversation.trigger_id == trigger.id, Conversation.deleted_at.is_(None))
        .order_by(TriggeredConversation.created_at.desc())
        .limit(1)
    )
    if event.kind is EventKind.PUSHED:
        query = query.where(TriggeredConversation.number.is_(None))
    elif event.number is None:
        return None
    else:
        query = query.where(
            TriggeredConversation.number == event.number,
            TriggeredConversation.is_pull_request == event.is_pull_request,
        )
    row = (await session.execute(query)).one_or_none()
    if row is None or (event.kind is EventKind.PUSHED and row[1] in AT_REST):
        return None
    return row[0]


async def _pull_request(
    session: AsyncSession, trigger: Trigger, event: HostEvent
) -> ConversationPullRequest | None:
    query = (
        select(ConversationPullRequest)
        .join(Conversation, Conversation.id == ConversationPullRequest.conversation_id)
        .where(
            ConversationPullRequest.user_id == trigger.user_id,
            ConversationPullRequest.origin == trigger.origin,
            ConversationPullRequest.repository == trigger.repository,
            Conversation.deleted_at.is_(None),
        )
        .order_by(ConversationPullRequest.created_at.desc())
        .limit(1)
    )
    if event.is_pull_request and event.number is not None:
        query = query.where(ConversationPullRequest.number == event.number)
    elif event.kind is EventKind.CHECK_FAILED and (branch := await _branch(session, trigger, event)):
        is_open = ConversationPullRequest.state == PullRequestState.OPEN
        query = query.where(ConversationPullRequest.head == branch, is_open)
    else:
        return None
    found: ConversationPullRequest | None = await session.scalar(query)
    return found


async def _branch(session: AsyncSession, trigger: Trigger, event: HostEvent) -> str | None:
    """Returns the branch on which a check ran. Returns None if the branch is not known.

    Forgejo names only the commit of a check. In this case, returns the branch to which an agent of the
    trigger's owner has pushed this commit.
    """
    if event.branch is not None or event.commit is None:
        return event.branch
    name = proxied_name(parse_address(trigger.clone_url, trigger.provider))
    query = (
        select(GitPush.ref)
        .where(
            GitPush.user_id == trigger.user_id,
            GitPush.repository == name,
            GitPush.new_commit == event.commit,
            GitPush.outcome == PushOutcome.ACCEPTED,
        )
        .order_by(GitPush.created_at.desc())
        .limit(1)
    )
    ref = await session.scalar(query)
    return branch_of(ref) if ref is not None else None


async def _corrected(session: AsyncSession, trigger: Trigger, event: HostEvent) -> set[str]:
    if event.kind is not EventKind.CHECK_FAILED:
        return set()
    query = select(TriggerDelivery.commit).where(
        TriggerDelivery.trigger_id == trigger.id, TriggerDelivery.commit == event.commit
    )
    return {one for one in await session.scalars(query) if one}
