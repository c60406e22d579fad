"""Compares the agent's claims about its work with what the event log proves. Adds an event to the log that
tells users whether commands, such as tests, have confirmed the work.
"""

import re

from agent_runtime.conversation.event_log.proof import Work
from agent_runtime.conversation.run.budget import check_cost
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.unproven_claims import unproven

# The pattern is narrow on purpose. A claim that it misses is only shown as unverified. A wrong match costs a
# call of the model.
_CLAIM = re.compile(
    r"\b(all|the|every|unit|[a-z]*\d+)\s+(\w+\s+){0,3}tests?(\s+suite)?\s+(now\s+|still\s+|all\s+)*"
    r"(pass|passes|passed|succeed|succeeded|are\s+green|is\s+green|are\s+passing|is\s+passing)\b"
    r"|\btests?\s+(now\s+|all\s+)*(pass|passed|are\s+passing|are\s+green)\b"
    r"|\bI\s+(have\s+)?(ran|run|executed)\s+(all\s+|the\s+)*(\w+\s+){0,2}tests?\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(not|n't|without|could not|cannot|should|will|would|once|if|until|make sure|to)\b[^.!?\n]*$",
    re.IGNORECASE,
)


def is_questioned(context: RunContext) -> bool:
    """Returns whether the agent must continue because the event log does not prove what the agent's last
    message claims, such as that the tests passed. If it must, the function has already logged a message to
    the agent that says which claim is not proved.

    Such a message is logged at most once after each message of the user. Raises RunError if the
    conversation's budget is spent.
    """
    work = context.state.work
    if work.is_questioned or (problem := _problem(work, context.state.final_response)) is None:
        return False
    check_cost(context)
    context.emit(unproven(problem))
    return True


def report(context: RunContext) -> None:
    """Adds an event to the conversation's log that tells users whether commands (see `Work.is_verified`) have
    confirmed the agent's changes. Does nothing if no file was changed, or if the log already has this event.
    """
    work = context.state.work
    if work.is_changed and not work.is_reported:
        context.emit(work.to_event())


def claims_tests(text: str) -> bool:
    """Returns whether a message of the agent claims that tests were run or passed."""
    return any(not _DENIAL.search(text[: found.start()]) for found in _CLAIM.finditer(text))


def _problem(work: Work, said: str) -> str | None:
    if work.has_hidden_work:
        return None
    if missing := work.not_run:
        return f"You cite `{missing[0]}`, which did not run after your last change."
    if not claims_tests(said):
        return None
    if not work.ran:
        since = "after your last change" if work.is_changed else "in this conversation"
        return f"You say that tests pass or were run, but nothing has run {since}."
    tests = [one for one in work.ran if one.is_test]
    if tests and tests[-1].exit_code not in {0, None}:
        return (
            f"You say that tests pass, but `{tests[-1].command}` ended with exit code {tests[-1].exit_code}."
        )
    return None
