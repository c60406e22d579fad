"""Helpers for conversations whose agent has sub-agents. A scripted model answers all of these agents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_runtime import Conversation, ToolSpec
from tests.agent_runtime.client.conftest import Place
from tests.support.scripted_llm import Request, Turn, text_of

Play = Callable[[Request], Turn]


PRICES = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
"""Prices per token. A reply of the scripted model has 100 and 10 tokens and so costs 0.20 dollars."""


def parent(place: Place, *, at_once: int = 4, **options: Any) -> Conversation:
    """Opens a conversation whose agent can start sub-agents. at_once: how many calls of one reply may run in
    parallel. options: arguments of Conversation; `llm`: fields of the model.
    """
    llm_fields = options.pop("llm", {})
    agent = place.agent(**llm_fields).model_copy(
        update={
            "tools": [ToolSpec(name="terminal"), ToolSpec(name="task_tool_set")],
            "tool_concurrency_limit": at_once,
        }
    )
    return place.conversation(agent, **options)


def results(conversation: Conversation) -> list[dict[str, Any]]:
    """Returns the results of the calls of `task`, in the order in which these calls ended."""
    return [
        event.observation
        for event in conversation.state.events
        if event.kind == "ObservationEvent" and event.tool_name == "task"
    ]


def tasks(conversation: Conversation) -> dict[str, Any]:
    """Returns the state of each task of the conversation, by the id of the task."""
    return dict(conversation.state.info.agent_state["tasks"])


def task(prompt: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "task", {"prompt": prompt, **arguments}


def agent_file(place: Place, directory: str, name: str, front_matter: str, body: str = "You work.") -> None:
    path = Path(place.workspace.working_dir) / directory / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\n{front_matter}\n---\n{body}\n")


def by_prompt(**plays: Play) -> Play:
    """Returns a function that answers requests of several conversations. It calls the function in `plays`
    whose name is the first word of the conversation's first user message.
    """

    def answer(request: Request) -> Turn:
        first = next(text_of(one) for one in request.messages if one["role"] == "user")
        return plays[first.split()[0].strip(".")](request)

    return answer


def steps(*turns: Turn) -> Play:
    """Returns a function that answers a conversation's requests with these turns in order, and with the last
    turn after that.
    """
    return lambda request: turns[min(len(_replies(request)), len(turns) - 1)]


def results_in(request: Request) -> list[str]:
    """Returns the texts of the tool results in a request to the model."""
    return [text_of(message) for message in request.messages if message["role"] == "tool"]


def _replies(request: Request) -> list[dict[str, Any]]:
    return [message for message in request.messages if message["role"] == "assistant"]
