"""Finds all tool calls that a model wrote in the text of a reply, in any supported markup. Has no side
effects.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_runtime.calls_in_text import calls as prompted_calls
from agent_runtime.calls_in_text import other_markups
from agent_runtime.calls_in_text.values import kinds_of_parameters

# A call that the model only thinks of is none.
_THOUGHT = re.compile(r"\s*(?:<think>.*?</think>|\[THINK\].*?\[/THINK\])", re.DOTALL)


def calls_in(
    text: str, tools: Sequence[Mapping[str, Any]], *, was_cut: bool = False
) -> list[tuple[int, str, str]]:
    """Returns the tool calls in the text of a model's reply. Each call is returned as its index in the text,
    the name of the tool and the arguments as JSON.

    The function searches for the markup that the module `instructions` asks for, and for the markups of the
    models' own chat templates. It returns only the calls in one markup: the markup of the first call in the
    text.

    `tools`: the tool definitions in the format of the OpenAI chat completions API. `was_cut`: whether the
    reply was cut off. If True, the last call may be incomplete. Then it is left out, or its arguments are a
    text that is not valid JSON.
    """
    types = {tool["function"]["name"]: kinds_of_parameters(tool) for tool in tools}
    thought = _THOUGHT.match(text)
    begin = thought.end() if thought else 0
    said = text[begin:]
    own = list(prompted_calls.calls(said, types, was_cut=was_cut))
    others = other_markups.calls(said, types, was_cut=was_cut)
    found = others if others and (not own or others[0][0] < own[0][0]) else own
    return [(begin + position, name, arguments) for position, name, arguments in found]
