"""Describes the available tools as text in the system prompt, for a model whose API has no tool calls. Has no
side effects.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_INSTRUCTIONS = """\
You can use the tools listed below. To use one, end your reply with a call in exactly this form:

<function=NAME>
<parameter=KEY>value</parameter>
<parameter=OTHER_KEY>a value
may have several lines</parameter>
</function>

- Values are written as they are, without quotes and escapes; lists and objects as JSON.
- Give every required parameter. Say what you think before the call, nothing after it.
- The result comes with the next message. Never write it yourself.

Tools:
"""


def documentation(tools: Sequence[Mapping[str, Any]]) -> str:
    """Returns a system prompt that describes the tools and the markup in which the model must write tool
    calls. `tools`: the tool definitions in the format of the OpenAI chat completions API.
    """
    return _INSTRUCTIONS + "\n\n".join(_described(tool["function"]) for tool in tools)


def _described(function: Mapping[str, Any]) -> str:
    parameters = function.get("parameters") or {}
    required = set(parameters.get("required") or ())
    lines = [f"## {function['name']}", str(function.get("description", "")), "Parameters:"]
    for name, schema in (parameters.get("properties") or {}).items():
        need = "required" if name in required else "optional"
        choices = f" One of: {', '.join(map(str, schema['enum']))}." if "enum" in schema else ""
        about = schema.get("description", "")
        lines.append(f"- {name} ({schema.get('type', 'string')}, {need}): {about}{choices}")
    return "\n".join(lines)
