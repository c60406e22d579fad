"""Handles the webhook deliveries that git hosts have sent. The events in a delivery start a conversation, are
sent to a conversation as a message, pause a conversation, or have no effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.permissions import Permission, permissions_of
from app_server.core.database import now
from app_server.core.errors import AppError, Conflict
from app_server.core.jobs.policy import JobAttempt, RetryPolicy, TryAgain
from app_server.git.providers import GitProvider
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import PullRequestState
from app_server.git_hosts.webhooks.events import EventKind, HostEvent
from app_server.triggers import conversation_limit
from app_server.triggers.carry_out import Acting, Outcome
from app_server.triggers.decision import Action, Known, decide, is_own
from app_server.triggers.decision_facts import EventFacts, is_about, look_up
from app_server.triggers.models import (
    DeliveryResult,
    Trigger,
    TriggerDelivery,
    TriggeredConversation,
    TriggerEvent,
)
from app_server.triggers.refused_starts import PASSING
from app_server.triggers.shared_objects import Setting
from app_server.users.models import User

POLICY: Final = RetryPolicy(
    attempts=8,
    first_pause=timedelta(seconds=5),
    longest_pause=timedelta(minutes=30),
    timeout=timedelta(minutes=2),
)


@dataclass(frozen=True)
class _Work:
    delivery: TriggerDelivery
    trigger: Trigger
    user: User
    was_held: bool


class _ItsTurnHasNotComeError(Exception):
    """The error if a webhook delivery must wait until its trigger may start another conversation. `is_room`:
    whether the trigger may start one now, but for older deliveries.
    """

    def __init__(self, reason: str, *, is_room: bool) -> None:
        self.reason = reason
        self.is_room = is_room


class Handling:
    """The service that runs the background jobs of the kind `triggers.handle`. Each job handles one webhook
    delivery of a git host.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._acting = Acting(setting)

    async def handle(self, attempt: JobAttempt) -> dict[str, Any] | None:
        """Handles one webhook delivery of a git host, and stores the outcome in the database row of the
        delivery. Does nothing if the delivery was deleted or was handled before. Returns the state of the
        delivery and the action that was taken, as the result of the background job.

        If too many conversations that triggers have started for the repository are still active, the delivery
        is not handled now. Its state remains `waiting`, and another background job continues with it later.
        The same happens if older deliveries of the trigger wait for all places that are free.
        Raises TryAgain if the git host cannot be reached at the moment, and this is not the last attempt.
        """
        work = await self._load(attempt.payload)
        if work is None or work.delivery.state is not DeliveryResult.WAITING:
            return {"skipped": True}
        try:
            outcome = await self._outcome(work, attempt)
        except PASSING as error:
            if attempt.is_last:
                await self._note(work, Outcome.failed(error.detail))
                raise
            await self._note(work, Outcome(DeliveryResult.WAITING, reason=error.detail))
            raise TryAgain(error.detail, _wanted_pause(error)) from error
        except _ItsTurnHasNotComeError as error:
            async with self._setting.database.session() as session:
                await conversation_limit.hold(session, work.trigger.id, attempt, error.reason)
                await self._release_if_room(session, work, error)
            return {"state": DeliveryResult.WAITING, "action": None}
        except AppError as error:
            outcome = Outcome.failed(error.detail)
        except Exception as error:
            if attempt.is_last:
                await self._note(work, Outcome.failed(type(error).__name__))
            raise
        await self._note(work, outcome)
        return {"state": outcome.state, "action": outcome.action}

    async def give_up(self, attempt: JobAttempt, reason: str) -> None:
        """Notes that a webhook delivery of a git host has failed, because its background job is dead. Does
        nothing if another job continues with the delivery, or if its outcome is known.

        `attempt`: the last attempt of a job of the kind `triggers.handle` or `triggers.held`. `reason`: why
        the attempt has failed.
        """
        payload = attempt.payload.get("delivery", attempt.payload)
        work = await self._load(payload)
        if work is None or work.delivery.state is not DeliveryResult.WAITING:
            return
        started = [uuid5(work.delivery.id, str(index)) for index in range(len(payload["events"]))]
        query = select(TriggeredConversation.conversation_id).where(
            TriggeredConversation.conversation_id.in_(started)
        )
        async with self._setting.database.read() as session:
            if await conversation_limit.is_continued(session, attempt.job_id):
                return
            conversation_id = await session.scalar(query)
        # The last attempt may have started the conversation before it was ended.
        outcome = Outcome.failed(reason.partition("\n")[0])
        await self._note(work, outcome if conversation_id is None else Outcome.started(conversation_id))

    async def _load(self, payload: Mapping[str, Any]) -> _Work | None:
        was_held = payload.get("was_held", False)
        async with self._setting.database.read() as session:
            delivery = await session.get(TriggerDelivery, UUID(payload["delivery_id"]))
            if delivery is None:
                return None
            trigger = await session.get_one(Trigger, delivery.trigger_id)
            return _Work(delivery, trigger, await session.get_one(User, trigger.user_id), was_held)

    async def _outcome(self, work: _Work, attempt: JobAttempt) -> Outcome:
        """Handles the events in one webhook delivery in order, and stops after the first event that Slipway
        does not ignore. Returns the result of this event. If Slipway ignores all events, returns the result
        of the first one.

        Ignores the whole delivery if the account of the trigger's owner is disabled or may not start
        conversations.
        """
        user = work.user
        if user.disabled_at is not None or Permission.WORK not in permissions_of(
            user.role, user.organisation_id
        ):
            return Outcome.ignored("The owner of the trigger may not start conversations.")
        first: Outcome | None = None
        # The issue may have been closed since the host sent the delivery.
        is_late = attempt.number > 1 or work.was_held
        for index, stored in enumerate(attempt.payload["events"]):
            event = HostEvent.model_validate(stored)
            outcome = await self._of_event(work, event, index, is_late=is_late)
            if outcome.state is not DeliveryResult.IGNORED:
                return outcome
            first = first or outcome
        return first or Outcome.ignored("The message has no event for a trigger.")

    async def _of_event(self, work: _Work, event: HostEvent, index: int, *, is_late: bool) -> Outcome:
        trigger, setting = work.trigger, self._setting
        if not is_about(trigger, event):
            return Outcome.ignored(f"It is about another repository, {event.repository}.")
        async with setting.database.read() as session:
            host = await setting.host_of(session, trigger, work.user)
        found = await self._look_up(trigger, event, host.client)
        # The same for each attempt, so that a repeated attempt changes nothing.
        event_id = uuid5(work.delivery.id, str(index))
        if found.link is not None and found.link.conversation_id == event_id:
            return Outcome.started(event_id)
        decision = decide(event, found.known)
        if decision is None:
            return Outcome.ignored(_why_not(event, found.known))
        if decision.needs_write_access:
            # Nicknames at Bitbucket Cloud are not unique.
            by_id = trigger.provider is GitProvider.BITBUCKET and event.actor_id
            who = event.actor_id if by_id and event.actor_id else event.actor
            if not await host.client.may_push(trigger.repository, who):
                return Outcome.ignored(f"{event.actor} may not push to {trigger.repository}.")
        if decision.action is Action.START:
            if is_late and await _is_closed(host.client, trigger.repository, event):
                return Outcome.ignored("It was closed before its conversation could start.")
            await self._check_conversation_limit(work)
        return await self._acting.act(decision.action, trigger, work.user, host, event, found, event_id)

    async def _check_conversation_limit(self, work: _Work) -> None:
        """Checks that the trigger may start one more conversation at the moment, and that no older delivery
        waits for this place.

        Raises _ItsTurnHasNotComeError if the webhook delivery must wait. If 100 deliveries of the trigger
        already wait, raises Conflict `too_many_waiting` instead, unless this delivery was one of them.
        """
        trigger = work.trigger
        async with self._setting.database.read() as session:
            count = await conversation_limit.at_work(session, trigger)
            room = trigger.max_running - count
            before = await conversation_limit.ahead(session, work.delivery) if room > 0 else 0
            if room > before:
                return
            held = await conversation_limit.waiting(session, trigger)
        if held >= conversation_limit.MAX_HELD and not work.was_held:
            raise Conflict(
                f"{count} conversations are at work, and {conversation_limit.MAX_HELD} deliveries wait.",
                code="too_many_waiting",
            )
        reason = f"It waits, because conversations about this repository are at work: {count}."
        if room > 0:
            reason = f"It waits, because older deliveries wait: {before}."
        raise _ItsTurnHasNotComeError(reason, is_room=room > 0)

    async def _release_if_room(
        self, session: AsyncSession, work: _Work, error: _ItsTurnHasNotComeError
    ) -> None:
        """Lets the oldest waiting deliveries of the trigger continue if there is room for them. Called in the
        transaction that makes the delivery of `work` wait.
        """
        trigger = work.trigger
        if error.is_room:
            # Only older ones, so that two deliveries do not call each other again and again.
            before = work.delivery.created_at
            await conversation_limit.release_next(session, trigger.id, before=before)
        elif await conversation_limit.at_work(session, trigger) < trigger.max_running:
            # A conversation has ended since the check, when this delivery did not wait yet.
            await conversation_limit.release_next(session, trigger.id)

    async def _look_up(self, trigger: Trigger, event: HostEvent, client: GitHostClient) -> EventFacts:
        login, branch = "", None
        if event.kind is EventKind.ISSUE_ASSIGNED and TriggerEvent.ASSIGNMENT in trigger.events:
            login = (await client.me()).login
        if event.kind is EventKind.PUSHED and trigger.branch is None and TriggerEvent.PUSH in trigger.events:
            branch = (await client.repository(trigger.repository)).default_branch
        async with self._setting.database.read() as session:
            return await look_up(session, trigger, event, login=login, branch=branch)

    async def _note(self, work: _Work, outcome: Outcome) -> None:
        async with self._setting.database.session() as session:
            row = await session.get(TriggerDelivery, work.delivery.id)
            if row is None:
                return  # deleted meanwhile
            row.state, row.action, row.reason = outcome.state, outcome.action, outcome.reason
            row.conversation_id, row.commit = outcome.conversation_id, outcome.commit
            row.handled_at = None if outcome.state is DeliveryResult.WAITING else now()
            if work.was_held and row.handled_at is not None and outcome.action is not Action.START:
                # The place for which it has waited is still free.
                await conversation_limit.release_next(session, work.trigger.id)


async def _is_closed(client: GitHostClient, repository: str, event: HostEvent) -> bool:
    if event.number is None:
        return False
    if event.is_pull_request:
        return (await client.pull_request(repository, event.number)).state is not PullRequestState.OPEN
    return not (await client.issue(repository, event.number)).is_open


def _wanted_pause(error: AppError) -> timedelta | None:
    """Returns the pause that the git host asks for before the next call: the seconds in the `Retry-After`
    header of its error reply. A longer pause than an hour is shortened to an hour. Returns None if the header
    is missing or does not contain a number of seconds.
    """
    text = error.headers.get("Retry-After", "")
    return timedelta(seconds=min(int(text), 3600)) if text.isdecimal() and len(text) < 9 else None


def _why_not(event: HostEvent, known: Known) -> str:
    if is_own(event, known):
        return "Slipway wrote this comment itself."
    if known.is_own_push:
        return "An agent has pushed this commit."
    if known.has_conversation:
        return "A conversation about it is already there."
    return "The event does not match this trigger."
