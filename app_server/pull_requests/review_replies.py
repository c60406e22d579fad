"""Writes replies in those review threads of a pull request that the agent was asked to address."""

import logging
from collections.abc import Sequence

from app_server.core.errors import AppError
from app_server.git_hosts.own_comments import MARKER
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import PullRequest, ReviewThread
from app_server.pull_requests.messages import MAX_THREADS
from app_server.pull_requests.models import ConversationPullRequest

_MARK = f"{MARKER} answer -->"
_MAX_SAID_CHARACTERS = 2000

logger = logging.getLogger(__name__)


def ask(row: ConversationPullRequest, thread_ids: Sequence[str], head_commit: str | None) -> None:
    """Stores in `row` that the agent was asked to address these review threads. Adds them to the threads that
    are stored already. If there are more than MAX_THREADS then, the earliest are removed. `head_commit`: the
    last commit of the pull request's branch now. It is stored only if no threads were stored before.
    """
    if not row.asked_threads:
        row.asked_at_commit = head_commit
    row.asked_threads = list(dict.fromkeys([*row.asked_threads, *thread_ids]))[-MAX_THREADS:]


def take(
    row: ConversationPullRequest, found: PullRequest, threads: Sequence[ReviewThread], *, has_ended: bool
) -> list[str]:
    """Returns the ids of the review threads to which Slipway must reply now, and removes all threads from the
    list in `row`. The list contains the threads that the agent was asked to address. Resolved threads get no
    reply.

    If the agent still runs and the branch has no new commit since the agent was asked, returns no ids and
    removes nothing. `found`, `threads`: the pull request and all its review threads, as the git host shows
    them now. `has_ended`: whether the agent has ended its work.

    Several app servers may update the same pull request. Each thread gets at most one reply, because the
    first of them empties the list.
    """
    if not row.asked_threads or not (has_ended or has_moved(row.asked_at_commit, found)):
        return []
    asked = set(row.asked_threads)
    row.asked_threads, row.asked_at_commit = [], None
    return [thread.id for thread in threads if thread.id in asked and not thread.is_resolved]


def has_moved(before: str | None, found: PullRequest) -> bool:
    return None not in {before, found.head_commit} and before != found.head_commit


async def answer(
    client: GitHostClient,
    row: ConversationPullRequest,
    found: PullRequest,
    thread_ids: Sequence[str],
    said: str | None,
) -> None:
    """Adds the same reply to each of these review threads at the git host. The reply says whether the agent's
    work has led to new commits, and contains the agent's last message. If a reply fails, logs the failure and
    raises no error.

    `row`: the database row of the pull request, as it was before the call of `take`. It must still contain
    the commit at which the agent was asked, because `take` removes this commit. `found`: the pull request as
    the git host shows it now. `said`: the agent's last message, of which at most 2000 characters are used;
    None if the reply must contain no message.
    """
    commit = f"Addressed in the commits up to {str(found.head_commit)[:10]}."
    first = commit if has_moved(row.asked_at_commit, found) else "This led to no commit."
    # An agent notifies no people.
    quiet = (said or "")[:_MAX_SAID_CHARACTERS].replace("@", "@\u200b")
    words = "\n\n".join(part for part in (first, quiet, _MARK) if part)
    for thread_id in thread_ids:
        try:
            await client.reply_to_thread(row.repository, row.number, thread_id, words)
        except AppError as error:
            logger.warning(
                "a review thread could not be answered",
                extra={"pull_request": row.url, "review_thread": thread_id, "reason": error.detail},
            )
