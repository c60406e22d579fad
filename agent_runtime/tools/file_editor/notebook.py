"""Shows Jupyter notebooks (.ipynb) as cells with outputs, not as JSON."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_runtime.tools.truncate import truncate_middle

_MAX_OUTPUT_CHARS = 2_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_HINT = (
    "The commands that edit work on the JSON text of the notebook, which `view` with a `view_range` shows."
)


def show_notebook(path: Path, text: str, max_chars: int) -> str | None:
    """Returns the notebook as text for the model: its cells with their outputs. Returns None if the text is
    not a notebook. `max_chars`: the maximum length of the result.
    """
    try:
        cells = json.loads(text)["cells"]
        shown = [_show_cell(number, cell) for number, cell in enumerate(cells, start=1)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    fitting_count = _count_fitting(shown, max_chars)
    clipped = len(shown) - fitting_count
    notice = f"\n\n<response clipped> {clipped} more cells." if clipped else ""
    body = "\n\n".join(truncate_middle(cell, max_chars) for cell in shown[:fitting_count])
    return f"{path}, a notebook of {len(shown)} cells. {_HINT}\n\n{body}{notice}".rstrip("\n")


def _count_fitting(cells: list[str], max_chars: int) -> int:
    size = 0
    for count, cell in enumerate(cells):
        size += len(cell)
        if size > max_chars and count > 0:
            return count
    return len(cells)


def _show_cell(number: int, cell: dict[str, Any]) -> str:
    lines = [f"[{number}] {cell['cell_type']}:", _text(cell["source"])]
    for output in cell.get("outputs", []):
        for text in _output_texts(output):
            lines += [f"[{number}] output:", truncate_middle(text.rstrip("\n"), _MAX_OUTPUT_CHARS)]
    return "\n".join(lines)


def _output_texts(output: dict[str, Any]) -> Iterator[str]:
    if output["output_type"] == "stream":
        yield _text(output["text"])
    elif output["output_type"] == "error":
        yield _COLOURS.sub(
            "", "\n".join(output.get("traceback") or [f"{output['ename']}: {output['evalue']}"])
        )
    else:
        data = output.get("data", {})
        if "text/plain" in data:
            yield _text(data["text/plain"])
        if others := [kind for kind in data if kind != "text/plain"]:
            yield f"({', '.join(others)}, not shown)"


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
