"""The first thing the model reads."""

from pathlib import Path

PROMPTS = Path(__file__).parent / "prompts"


def render_system_prompt(*, working_dir: str, template: str = "system_prompt.j2") -> str:
    """The prompt for an agent that works in `working_dir`. An undefined variable is an error."""
    # Loaded with the first conversation: a server must be up before it needs any prompt.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The prompt is plain text for a model: there is no HTML to escape.
    environment = Environment(  # noqa: S701
        loader=FileSystemLoader(PROMPTS), undefined=StrictUndefined, keep_trailing_newline=False
    )
    return environment.get_template(template).render(working_dir=working_dir)
