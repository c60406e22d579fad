"""Builds the texts that stay in the prompt word for word when a summary replaces older events: the user's
last message, the agent's plan and the names of the files that the agent viewed or changed last.

The summary may leave out this information. Without the information, the agent could do something else than
what the user asked for.
"""

from collections.abc import Sequence

from agent_runtime.context.condense import CondensationPlan
from agent_runtime.context.system_prompt import render
from agent_runtime.context.view import Passage
from agent_runtime.conversation.event_log.proof import Work
from agent_runtime.events.message import MessageEvent
from agent_runtime.tools.truncate import truncate_middle

MAX_ORDER_CHARS = 12_000
MAX_PLAN_CHARS = 4_000


def keepsakes(
    plan: CondensationPlan, passages: Sequence[Passage], order: MessageEvent | None, work: Work
) -> str:
    """Returns the text that is added after the summary of condensed events: the user's last message, the
    agent's plan and the names of the files that the agent viewed or changed last. Returns an empty text if
    there is nothing to add.

    `plan`: which events are condensed. `passages`: the prompt's messages before the condensation; each
    passage is a group of them. `order`: the event of the user's last message. The message is left out of the
    text if it stays in the prompt. `work`: contains the agent's plan and the recent files.
    """
    forgotten = {event_id for passage in plan.forgotten for event_id in passage.event_ids}
    seen = {event_id for passage in passages for event_id in passage.event_ids} - forgotten
    is_lost = order is not None and order.id not in seen
    said = order.llm_message.text if order is not None and is_lost else ""
    return render(
        "keepsakes.j2",
        order=truncate_middle(said, MAX_ORDER_CHARS),
        plan=truncate_middle(work.plan, MAX_PLAN_CHARS),
        files=work.recent,
    ).strip()
