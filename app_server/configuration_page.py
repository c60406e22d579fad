"""Prints the text of docs/configuration.md, a page that describes the fields of `Config` (the environment
variables of the server). The command is `python -m app_server.configuration_page`. It prints the same text
each time if the fields have not changed.
"""

import ast
import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Final

from pydantic.fields import FieldInfo

from app_server.core.config import Config
from app_server.core.sign_in.config import SignInConfig
from app_server.core.variables import PREFIX

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "The server": (
        "home",
        "host",
        "port",
        "inner_port",
        "public_url",
        "allowed_hosts",
        "trusted_proxies",
        "preview_domain",
        "max_body_bytes",
        "max_message_bytes",
    ),
    "Database": ("database_url", "redis_url", "encryption_keys"),
    "Accounts": (
        "password_sign_in",
        "oidc_providers",
        "saml_providers",
        "session_days",
        "session_max_days",
        "audit_retention_days",
    ),
    "Models and tools": (
        "llm_timeout_seconds",
        "llm_calls_per_sandbox",
        "llm_calls_per_user",
        "tavily_api_key",
        "tavily_url",
        "mail",
        "skills_path",
    ),
    "Sandboxes": (
        "sandbox",
        "process_isolation",
        "sandbox_memory_bytes",
        "sandbox_memory_total_bytes",
        "sandbox_cpus",
        "sandbox_pids",
        "sandbox_disk_bytes",
        "sandbox_runtime",
        "sandbox_max_conversations",
        "sandbox_start_timeout_seconds",
        "clone_timeout_seconds",
        "setup_script_timeout_seconds",
        "session_key_minutes",
    ),
    "Images of sandboxes": (
        "sandbox_flavour",
        "sandbox_base_image",
        "sandbox_image",
        "sandbox_specs",
        "sandbox_build_timeout_seconds",
        "sandbox_build_max_bytes",
        "sandbox_build_network",
    ),
    "Sleep, archives and ready sandboxes": (
        "sandbox_idle_minutes",
        "sandbox_frozen_minutes",
        "sandbox_archive_days",
        "sandbox_archive_max_bytes",
        "sandbox_pool",
        "sandbox_pools",
        "stop_sandboxes_on_exit",
    ),
    "Sandboxes on other hosts": (
        "sandbox_hosts",
        "sandbox_hosts_ca",
        "sandbox_host_patience_seconds",
        "sandbox_backup_minutes",
        "sandbox_host_port",
        "sandbox_host_certificate",
        "sandbox_host_key",
    ),
    "Network of sandboxes": (
        "egress",
        "egress_hosts",
        "egress_private",
        "package_cache_bytes",
        "package_cache_hosts",
    ),
}

_HEAD = """\
# Configuration

The environment variables that the server reads when it starts. A wrong value, or a name that does not exist,
stops the start with one sentence. Lists and tables are JSON: `["a.example.org"]`. What people change while
the server runs is under Settings.

This page is made from the code: `python -m app_server.configuration_page > docs/configuration.md`.
"""


def page() -> str:
    """Returns the text of docs/configuration.md. Raises LookupError if a field of `Config` is in no section
    of the page or has no docstring, or if a section names a field that does not exist.
    """
    docstrings = _docstrings(SignInConfig) | _docstrings(Config)
    if missing := Config.model_fields.keys() ^ {name for names in SECTIONS.values() for name in names}:
        raise LookupError(f"Exactly one section must name each field: {', '.join(sorted(missing))}")
    parts = [_HEAD]
    for title, names in SECTIONS.items():
        rows = [_row(name, Config.model_fields[name], docstrings) for name in names]
        parts.append(
            "\n".join(
                [f"\n## {title}\n", "| Variable | Default | Meaning |", "| --- | --- | --- |", *rows, ""]
            )
        )
    return "".join(parts)


def _row(name: str, field: FieldInfo, docstrings: Mapping[str, str]) -> str:
    text = re.sub(r"`(\w+)`", _variable, docstrings[name].replace("|", "\\|"))
    text = re.sub(r"see ([\w-]+\.md)", r"see [\1](\1)", text)
    stated = "" if "Default:" in text else _default(name, field)
    return f"| `{PREFIX}{name.upper()}` | {stated} | {text} |"


def _variable(quoted: re.Match[str]) -> str:
    """Replaces the name of a field of `Config` by the name of its environment variable. `quoted`: the match
    of one word and the backquotes around it, in a text of docs/configuration.md.

    Returns the new text with backquotes. Returns the matched text if the word is not the name of a field.
    """
    return f"`{PREFIX}{quoted[1].upper()}`" if quoted[1] in Config.model_fields else quoted[0]


def _default(name: str, field: FieldInfo) -> str:
    """Returns the default value of a setting in a form for people: `4 GiB`, not 4294967296."""
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if name.endswith("_bytes") and value:
        return _size(value)
    if isinstance(value, Path):
        return f"`{value}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _size(number: int) -> str:
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if number % size == 0:
            return f"{number // size} {unit}"
    return f"{number} bytes"


def _docstrings(model: type) -> dict[str, str]:
    """Reads the source text of the class `model` and returns the docstrings of its fields. The docstring of a
    field is the text that stands directly below the field.

    The keys of the returned dict are the names of the fields. The lines of each docstring are joined to one
    line.
    """
    (body,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[field.target.id] = " ".join(text.split())
    return found


if __name__ == "__main__":
    sys.stdout.write(page())
