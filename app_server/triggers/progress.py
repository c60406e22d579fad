"""Follows the progress of the conversations that triggers have started. Opens their pull requests, and edits
the comments at the git host that show the progress.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from app_server.conversations import service as conversations
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.repositories.workplaces import Workplace
from app_server.core.errors import AppError
from app_server.core.jobs.policy import JobAttempt, RetryPolicy, TryAgain
from app_server.git.providers import GitProvider
from app_server.git_hosts.connect import ConnectedHost
from app_server.git_hosts.own_comments import find_marked
from app_server.git_hosts.schemas import ItemKind, NewPullRequest, PullRequestState
from app_server.pull_requests import evidence, service, working_tree
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.opening import open_pull_request
from app_server.pull_requests.proposing import proposal_of
from app_server.pull_requests.refresh import refresh
from app_server.pull_requests.repository_of import HostedRepository
from app_server.pull_requests.template import template_of
from app_server.pull_requests.working_tree import WorkingTree
from app_server.triggers import conversation_limit, texts
from app_server.triggers.models import Trigger, TriggeredConversation
from app_server.triggers.refused_starts import PASSING
from app_server.triggers.shared_objects import Setting, trail_of_server
from app_server.users.models import User

POLICY: Final = RetryPolicy(
    attempts=8,
    first_pause=timedelta(seconds=5),
    longest_pause=timedelta(minutes=30),
    # A push may take five minutes.
    timeout=timedelta(minutes=8),
)
_AT_WORK = ("running", "waiting_for_confirmation")
_STATES = {
    "running": "Slipway is working on this.",
    "waiting_for_confirmation": "Slipway waits for its user to confirm an action.",
    "paused": "Slipway was paused.",
    "stuck": "Slipway has stopped, because it repeated itself without success.",
}


@dataclass(frozen=True)
class _Case:
    link: TriggeredConversation
    trigger: Trigger
    user: User
    conversation: Conversation
    task: StartTask
    host: ConnectedHost


class TriggerProgress:
    """The service that runs the background jobs of the kind `triggers.progress`. Each job takes the next
    steps for one conversation that a trigger has started, such as opening a pull request.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    async def follow(self, attempt: JobAttempt) -> dict[str, Any] | None:
        """Takes the next steps for a conversation that a trigger has started.

        If the agent has stopped working, first lets waiting webhook deliveries for the same repository
        continue, because another conversation may start now. If the issue or pull request was closed, pauses
        the conversation. If the agent has finished and the trigger wants pull requests, pushes the work and
        opens a pull request. Afterwards updates the comment at the git host that shows the progress.

        Returns the result of the background job, for example the sentence about the progress. Raises TryAgain
        if the git host or the sandbox cannot be reached at the moment.
        """
        async with self._setting.database.session() as session:
            await conversation_limit.release_waiting(session, UUID(attempt.payload["conversation_id"]))
        try:
            case = await self._load(UUID(attempt.payload["conversation_id"]))
            if case is None:
                return {"skipped": True}
            sentence, summary = await self._state(case, is_last=attempt.is_last)
            if case.link.number is not None:
                await self._comment(case, case.link.number, sentence, summary)
        except PASSING as error:
            raise TryAgain(error.detail) from error
        except AppError as error:
            # A locked issue, or a comment that a person has deleted: the work itself goes on.
            return {"problem": error.detail}
        return {"said": sentence}

    async def _load(self, conversation_id: UUID) -> _Case | None:
        async with self._setting.database.read() as session:
            link = await session.get(TriggeredConversation, conversation_id)
            conversation = await session.get(Conversation, conversation_id)
            if link is None or conversation is None or conversation.deleted_at is not None:
                return None
            trigger = await session.get_one(Trigger, link.trigger_id)
            user = await session.get_one(User, trigger.user_id)
            task = await session.get_one(StartTask, conversation_id)
            host = await self._setting.host_of(session, trigger, user)
        return _Case(link, trigger, user, conversation, task, host)

    async def _state(self, case: _Case, *, is_last: bool) -> tuple[str, str]:
        """Takes the next step for the conversation, and returns two texts: a sentence about the progress of
        the work, and the agent's last message. The second text is empty if the agent has not finished.

        If the issue or pull request was closed, the step is to pause the agent. If the agent has finished and
        the trigger wants pull requests, the step is to push the work and open a pull request. If the push or
        the pull request fails, the sentence says why. A temporary error is raised instead, so that the
        background job tries again, unless `is_last` is True.

        `is_last`: whether this is the last attempt of the background job.
        """
        conversation, status = case.conversation, case.conversation.execution_status
        if await self._is_stopped(case):
            links = await self._pull_requests(case)
            work = f" Its work: {links}" if links else ""
            return f"Slipway has stopped, because this was closed.{work}", ""
        if case.task.status is StartStatus.ERROR:
            cause = (case.task.error or {}).get("cause", "the start has failed")
            return f"Slipway could not start: {cause}", ""
        if status == "finished":
            return await self._finished(case, is_last=is_last)
        if status == "error":
            return f"Slipway has failed: {await self._cause(conversation.id)}", ""
        return _STATES.get(status or "", "Slipway is starting to work on this."), ""

    async def _is_stopped(self, case: _Case) -> bool:
        """Returns whether the conversation is stopped because its issue or pull request was closed. If the
        agent of such a conversation still works, pauses the conversation.

        Returns False if the user has continued the conversation after it was paused.
        """
        link, conversation = case.link, case.conversation
        if not link.is_stopped:
            return False
        if conversation.execution_status in conversation_limit.AT_REST:
            await self._keep(conversation.id, is_at_rest=True)
        elif conversation.execution_status in _AT_WORK and link.is_at_rest:
            await self._keep(conversation.id, is_stopped=False, is_at_rest=False)
            return False
        elif conversation.execution_status in _AT_WORK:
            await self._setting.sandboxes.client(conversation.sandbox_id).pause(conversation.id)
        return True

    async def _finished(self, case: _Case, *, is_last: bool) -> tuple[str, str]:
        problem = ""
        if case.trigger.opens_pull_request:
            try:
                await self._deliver(case)
            except AppError as error:
                if isinstance(error, PASSING) and not is_last:
                    raise
                problem = f" Its work could not be handed in: {error.detail}"
        async with self._setting.database.read() as session:
            rows = await service.rows_of(session, case.conversation.id)
            events = await service.latest_events(session, case.conversation.id)
        summary = evidence.summary_of(events)
        if problem:
            return f"Slipway has finished.{problem}", summary
        for row in rows:
            if row.asked_threads:
                hosts = self._setting.hosts_of(case.user)
                await refresh(self._setting.database, hosts, row.id, said=summary)
        links = await self._pull_requests(case)
        sentence = (
            f"Slipway has finished: {links}" if links else "Slipway has finished. There is no pull request."
        )
        return sentence, summary

    async def _pull_requests(self, case: _Case) -> str:
        """Returns a text with Markdown links to the pull requests of the conversation, oldest first. The text
        is empty if there are none.
        """
        async with self._setting.database.read() as session:
            rows = await service.rows_of(session, case.conversation.id)
        return ", ".join(f"[{row.title}]({row.url})" for row in reversed(rows))

    async def _deliver(self, case: _Case) -> None:
        """Pushes the changes and commits of the conversation that the git host does not have yet. Then opens
        a pull request if the conversation has no open pull request. Raises AppError if this fails.
        """
        setting, conversation = self._setting, case.conversation
        async with setting.database.read() as session:
            rows = await service.rows_of(session, conversation.id)
            workplace = await conversations.workplace(session, setting.viewer, case.user.id, conversation.id)
        tree = await working_tree.look_at(workplace)
        is_changed = tree.uncommitted_files > 0 or tree.head != (workplace.base_commit or "")
        if not is_changed:
            return
        title = _title(case)
        if known := _open_one(rows, tree):
            if tree.uncommitted_files or tree.head != known.head_commit:
                await working_tree.push(workplace, known.head, title)
            return
        if any(row.state is PullRequestState.OPEN for row in rows):
            return  # the agent has opened it and works on another branch now
        await self._open(case, tree, workplace, title)

    async def _open(self, case: _Case, tree: WorkingTree, workplace: Workplace, title: str) -> None:
        setting, branch = self._setting, case.conversation.selected_branch
        repository = HostedRepository(case.host, case.trigger.repository, branch)
        template = await template_of(workplace, case.host.provider)
        draft = await proposal_of(
            setting.database, setting.config.base_url, repository, case.conversation, tree, template
        )
        new = NewPullRequest(
            title=title or draft.title,
            body="\n\n".join(part for part in (_reference(case), draft.body) if part),
            head=draft.head,
            base=draft.base,
            is_draft=True,
        )
        async with setting.database.read() as session:
            await service.check_new(session, case.user.id, repository, new)
        if not draft.is_pushed or tree.uncommitted_files:
            await working_tree.push(workplace, new.head, new.title)
        await open_pull_request(
            setting.database, case.conversation, repository, new, trail_of_server(case.user)
        )

    async def _cause(self, conversation_id: UUID) -> str:
        async with self._setting.database.read() as session:
            events = await service.latest_events(session, conversation_id)
        for event in reversed(events):
            if event.get("kind") == "ConversationErrorEvent":
                return str(event.get("detail") or event.get("code"))[:500]
        return "the conversation shows why."

    async def _comment(self, case: _Case, number: int, sentence: str, summary: str) -> None:
        """Writes the comment on the issue or pull request that shows the progress of the agent's work. If the
        comment exists already and its text has changed, edits the comment.

        sentence: the progress of the work. summary: the agent's last message, or an empty text.
        """
        link, client, repository = case.link, case.host.client, case.trigger.repository
        kind = ItemKind.PULL_REQUEST if link.is_pull_request else ItemKind.ISSUE
        page = self._setting.page_of(link.conversation_id)
        text = texts.comment(link.conversation_id, sentence, page, summary=summary)
        if text == link.comment:
            return
        comment_id = link.comment_id
        if comment_id is None and link.comment_begun:
            # The server may have ended after it added the comment and before it stored the comment's id.
            comment_id = await find_marked(client, repository, kind, number, link.conversation_id)
        if comment_id is None:
            await self._keep(link.conversation_id, comment_begun=True)
            comment_id = (await client.add_comment(repository, kind, number, text)).id
        else:
            await client.edit_comment(repository, kind, number, comment_id, text)
        await self._keep(link.conversation_id, comment_id=comment_id, comment=text)

    async def _keep(self, conversation_id: UUID, **values: Any) -> None:
        async with self._setting.database.session() as session:
            link = await session.get(TriggeredConversation, conversation_id)
            if link is not None:
                for name, value in values.items():
                    setattr(link, name, value)


def _open_one(rows: Sequence[ConversationPullRequest], tree: WorkingTree) -> ConversationPullRequest | None:
    return next((row for row in rows if row.state is PullRequestState.OPEN and row.head == tree.branch), None)


def _title(case: _Case) -> str:
    return " ".join(case.link.title.split())[:200]


def _reference(case: _Case) -> str:
    link = case.link
    if link.number is None:
        return ""
    if link.is_pull_request:
        return f"For #{link.number}."
    # Work items of Azure DevOps are named so.
    return (
        f"AB#{link.number}"
        if case.trigger.provider is GitProvider.AZURE_DEVOPS
        else f"Closes #{link.number}."
    )
