"""Renders the templates of the system prompt and of other texts for the model."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

PROMPTS = Path(__file__).parent / "prompts"


def render_system_prompt(*, working_dir: str) -> str:
    """Returns the system prompt for an agent that works in `working_dir`."""
    return render("system_prompt.j2", working_dir=working_dir)


def render(template: str, **values: Any) -> str:
    """Renders a template file of the folder `prompts/` with these values and returns the text. Raises an
    error if the template uses a variable that is not in `values`.
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> "Environment":
    # Loaded with the first conversation: a server must be up before it needs any prompt.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The prompt is plain text for a model: there is no HTML to escape.
    return Environment(  # noqa: S701
        loader=FileSystemLoader(PROMPTS), undefined=StrictUndefined, keep_trailing_newline=False
    )
