"""Carries out the decision about an event at a git host: starts a conversation, sends a message to a
conversation, or pauses a conversation. The module decision.py makes the decision.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self
from uuid import UUID

from agent_runtime.events.content import TextContent
from app_server.conversations import service as conversations
from app_server.conversations.message_schemas import SendMessageRequest
from app_server.conversations.schemas import StartRequest
from app_server.conversations.trigger_progress import TRIGGER, tell_of_progress
from app_server.core.errors import AppError, BadRequest, Forbidden, NotFound
from app_server.git_hosts.connect import ConnectedHost
from app_server.git_hosts.own_comments import MARKER
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import (
    CheckState,
    Comment,
    ItemKind,
    PullRequest,
    Review,
    ReviewThread,
    ReviewVerdict,
)
from app_server.git_hosts.webhooks.events import EventKind, HostEvent
from app_server.pull_requests import messages
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.review_replies import ask
from app_server.sandbox_specs.permission import permission_of
from app_server.triggers import texts
from app_server.triggers.decision import Action
from app_server.triggers.decision_facts import EventFacts, corrections
from app_server.triggers.models import DeliveryResult, Trigger, TriggeredConversation
from app_server.triggers.refused_starts import tell_of_refusal
from app_server.triggers.shared_objects import Setting
from app_server.users.models import User

logger = logging.getLogger(__name__)

MAX_CORRECTIONS: Final = 5
CORRECTIONS_WITHIN: Final = timedelta(days=1)
_MAX_CHECKS_WITH_LOGS = 5
_MAX_COMMENT_PAGES = 10


@dataclass(frozen=True)
class Outcome:
    """The result of handling a webhook delivery of a git host.

    `action`: what Slipway has done; None if it has done nothing. `reason`: why Slipway has done nothing, or
    why the action failed. `conversation_id`: the conversation that was started, paused or sent a message.
    `commit`: the commit whose failing checks were sent to the agent; None for other actions.
    """

    state: DeliveryResult
    action: Action | None = None
    reason: str | None = None
    conversation_id: UUID | None = None
    commit: str | None = None

    @classmethod
    def ignored(cls, reason: str) -> Self:
        return cls(DeliveryResult.IGNORED, reason=reason)

    @classmethod
    def failed(cls, reason: str) -> Self:
        return cls(DeliveryResult.FAILED, reason=reason)

    @classmethod
    def started(cls, conversation_id: UUID) -> Self:
        return cls(DeliveryResult.DONE, Action.START, conversation_id=conversation_id)


class Acting:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    async def act(
        self,
        action: Action,
        trigger: Trigger,
        user: User,
        host: ConnectedHost,
        event: HostEvent,
        found: EventFacts,
        event_id: UUID,
    ) -> Outcome:
        """Carries out the action that was decided for an event at a git host, and returns what was done.

        `found`: the facts about the event and about the conversation to which the event belongs. `event_id`:
        identifies the event. If an event is handled a second time, its id is the same as the first time, so
        that the action is not done twice. Raises AppError if the action fails.
        """
        match action:
            case Action.START:
                return await self._start(trigger, user, host.client, event, event_id)
            case Action.TELL:
                return await self._tell(trigger, user, host.client, event, found, event_id)
            case Action.FIX_CHECKS:
                return await self._fix_checks(user, host.client, event, found)
            case Action.PAUSE:
                return await self._pause(found)

    async def _start(
        self, trigger: Trigger, user: User, client: GitHostClient, event: HostEvent, event_id: UUID
    ) -> Outcome:
        setting, opens = self._setting, trigger.opens_pull_request
        title, branch = f"Push to {event.branch}", trigger.branch
        if event.kind is EventKind.PUSHED or event.number is None:
            text = texts.about_push(event, trigger.instructions, opens_pull_request=opens)
        else:
            kind = ItemKind.PULL_REQUEST if event.is_pull_request else ItemKind.ISSUE
            item = (
                await client.pull_request(trigger.repository, event.number)
                if event.is_pull_request
                else await client.issue(trigger.repository, event.number)
            )
            said = await _comments(client, trigger.repository, kind, event.number)
            text = texts.about_item(event, item, said, trigger.instructions, opens_pull_request=opens)
            title = item.title
            if isinstance(item, PullRequest):
                # The branch of a fork is not in this repository.
                is_here = item.head_repository == trigger.repository
                branch = item.head if is_here else item.base
        shown = f"#{event.number} {title}" if event.number else title
        request = StartRequest(
            conversation_id=event_id,
            initial_message=SendMessageRequest(content=[TextContent(text=text)]),
            selected_repository=trigger.clone_url,
            selected_branch=branch,
            git_provider=trigger.provider,
            llm_profile=trigger.llm_profile,
            sandbox_spec_id=trigger.sandbox_spec_id,
            title=" ".join(shown.split())[:200],
            trigger=TRIGGER,
            pr_number=[event.number] if event.is_pull_request and event.number else None,
        )
        try:
            await self._store(trigger, user, event, request, title)
        except AppError as error:
            await tell_of_refusal(client, trigger, event, error)
            raise
        setting.start_worker.wake()
        return Outcome.started(event_id)

    async def _store(
        self, trigger: Trigger, user: User, event: HostEvent, request: StartRequest, title: str
    ) -> None:
        setting, conversation_id = self._setting, request.conversation_id
        assert conversation_id is not None
        async with setting.database.session() as session:
            await conversations.start(
                session,
                setting.config,
                setting.cipher,
                user,
                request,
                sandboxes=setting.sandboxes,
                specs=permission_of(
                    setting.config, setting.sandboxes.describe(), administers=user.administers_installation
                ),
            )
            session.add(
                TriggeredConversation(
                    conversation_id=conversation_id,
                    trigger_id=trigger.id,
                    is_pull_request=event.is_pull_request,
                    number=None if event.kind is EventKind.PUSHED else event.number,
                    title=title,
                )
            )
            await tell_of_progress(session, conversation_id)

    async def _tell(
        self,
        trigger: Trigger,
        user: User,
        client: GitHostClient,
        event: HostEvent,
        found: EventFacts,
        event_id: UUID,
    ) -> Outcome:
        open_threads, head = await _threads_of(client, event, found)
        if event.kind is EventKind.PUSHED:
            opens = trigger.opens_pull_request
            text = texts.about_push(event, trigger.instructions, opens_pull_request=opens)
        elif found.pull_request is not None and event.leaves_out_comments and open_threads:
            verdict = event.verdict or ReviewVerdict.COMMENTED
            review = Review(author=event.actor, verdict=verdict, body=event.text)
            text = messages.about_review(found.pull_request, open_threads, [review])
        elif event.leaves_out_comments and not _says_something(event):
            return Outcome.ignored("The review says nothing new.")
        else:
            text = texts.about_comment(event)
        conversation_id = _conversation_of(found)
        if found.link is not None:
            async with self._setting.database.session() as session:
                link = await session.get_one(TriggeredConversation, found.link.conversation_id)
                link.is_stopped = link.is_at_rest = False
        await self._send(user, conversation_id, text, event_id.hex)
        if found.pull_request is not None and open_threads:
            async with self._setting.database.session() as session:
                row = await session.get_one(
                    ConversationPullRequest, found.pull_request.id, with_for_update=True
                )
                ask(row, [thread.id for thread in open_threads], head)
        return Outcome(DeliveryResult.DONE, Action.TELL, conversation_id=conversation_id)

    async def _fix_checks(
        self, user: User, client: GitHostClient, event: HostEvent, found: EventFacts
    ) -> Outcome:
        row = found.pull_request
        assert row is not None
        async with self._setting.database.read() as session:
            count = await corrections(session, row.conversation_id, CORRECTIONS_WITHIN)
        if count >= MAX_CORRECTIONS:
            return Outcome.ignored(
                f"Failing checks were handed over {count} times today. A person has to look."
            )
        pull_request = await client.pull_request(row.repository, row.number)
        checks = await client.checks(row.repository, pull_request)
        failing = [check for check in checks if check.state is CheckState.FAILED]
        if not failing:
            return Outcome.ignored("No check fails any more.")
        with_logs = [
            (check, await _log_of(client, row, check.id)) for check in failing[:_MAX_CHECKS_WITH_LOGS]
        ]
        message_id = f"checks-{row.id.hex}-{event.commit}"
        await self._send(user, row.conversation_id, messages.about_checks(row, with_logs), message_id)
        return Outcome(
            DeliveryResult.DONE,
            Action.FIX_CHECKS,
            conversation_id=row.conversation_id,
            commit=event.commit,
        )

    async def _pause(self, found: EventFacts) -> Outcome:
        assert found.link is not None
        conversation_id = found.link.conversation_id
        async with self._setting.database.session() as session:
            link = await session.get_one(TriggeredConversation, conversation_id)
            link.is_stopped, link.is_at_rest = True, False
            await tell_of_progress(session, conversation_id)
        return Outcome(DeliveryResult.DONE, Action.PAUSE, conversation_id=conversation_id)

    async def _send(self, user: User, conversation_id: UUID, text: str, message_id: str) -> None:
        setting = self._setting
        message = SendMessageRequest(id=message_id, content=[TextContent(text=text)])
        reply = await conversations.send_message(
            setting.database,
            setting.viewer,
            user,
            conversation_id,
            message,
            max_bytes=setting.config.max_message_bytes,
        )
        if reply.message is not None:
            setting.start_worker.wake()


async def _threads_of(
    client: GitHostClient, event: HostEvent, found: EventFacts
) -> tuple[list[ReviewThread], str | None]:
    """Finds the review threads in which Slipway can later reply to a new review. Returns these threads and
    the head commit of the pull request. All returned threads are open (not resolved).

    Returns the thread that the event names, or the threads that contain the event's comment. If the event
    does not contain the review's comments, returns instead the threads whose last comment is from the
    reviewer and not from Slipway.

    Returns an empty list and None if no conversation has opened the pull request, or if the event is neither
    a review comment nor a review without its comments. Does the same if there is no such thread, or if the
    git host does not let Slipway read the threads. In the last case, the agent still gets the reviewer's
    text, but Slipway cannot reply in the threads.
    """
    row = found.pull_request
    if row is None or not (event.kind is EventKind.REVIEW_COMMENT or event.leaves_out_comments):
        return [], None
    try:
        threads = await client.review_threads(row.repository, row.number)
        wanted = _written_in(event, [one for one in threads if not one.is_resolved])
        head = (await client.pull_request(row.repository, row.number)).head_commit if wanted else None
    except (BadRequest, Forbidden, NotFound) as error:
        logger.info("the review threads cannot be read", extra={"reason": error.detail})
        return [], None
    return wanted, head


def _written_in(event: HostEvent, threads: Sequence[ReviewThread]) -> list[ReviewThread]:
    if event.leaves_out_comments:
        # Only threads whose last comment is by the actor, and was not written by Slipway.
        last = [(one, one.comments[-1]) for one in threads if one.comments]
        return [one for one, said in last if said.author == event.actor and MARKER not in said.body]
    named = [one for one in threads if one.id == event.thread_id]
    return named or [
        one
        for one in threads
        if event.comment_id is not None and event.comment_id in {said.id for said in one.comments}
    ]


def _says_something(event: HostEvent) -> bool:
    return bool(event.text.strip()) or event.verdict is ReviewVerdict.CHANGES_REQUESTED


def _conversation_of(found: EventFacts) -> UUID:
    """Returns the id of the conversation to which a git host's event belongs. If a conversation has opened
    the event's pull request, returns the id of that conversation. Otherwise returns the id of the
    conversation that the trigger has started about the issue, the pull request or the push.
    """
    if found.pull_request is not None:
        return found.pull_request.conversation_id
    assert found.link is not None
    return found.link.conversation_id


async def _comments(client: GitHostClient, repository: str, kind: ItemKind, number: int) -> list[Comment]:
    """Reads the comments on an issue or pull request from the git host, and returns them, oldest first. Reads
    at most ten pages of comments.
    """
    found: list[Comment] = []
    page: str | None = None
    for _ in range(_MAX_COMMENT_PAGES):
        part = await client.comments(repository, kind, number, page=page)
        found += part.items
        page = part.next_page
        if page is None:
            break
    return found


async def _log_of(client: GitHostClient, row: ConversationPullRequest, check_id: str | None) -> str:
    if check_id is None:
        return ""
    try:
        return await client.check_log(row.repository, check_id)
    except AppError as error:
        # The message is useful without the log, too: the agent can run the check in the sandbox.
        return f"(The log could not be read: {error.detail})"
