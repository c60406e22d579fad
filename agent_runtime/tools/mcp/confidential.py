"""Finds the secrets in the configuration of an MCP server: by the names of the values, such as `password`,
and by the form of the values.
"""

import re
from collections.abc import Iterator, Mapping

from agent_runtime.llm.config import MASK
from agent_runtime.tools.mcp.config import McpServer

MIN_CHARS = 6
"""The minimum length of a secret. A shorter value is probably a common word and not a secret."""

_NAME = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|auth|private|cookie|session|signature|(^|_)(pat|dsn|pin)(_|$)",
    re.IGNORECASE,
)
_OPTION = re.compile(r"--?([\w-]+)(?:=(.*))?", re.DOTALL)
_IN_ADDRESS = re.compile(r"\w+://[^/\s:@]*:([^/\s@]+)@")
_SCHEME = re.compile(r"(?:bearer|basic|token|apikey)\s+", re.IGNORECASE)
_PLAIN = re.compile(r"[\d.,:]*|true|false|yes|no|on|off|null|none", re.IGNORECASE)
# Letters and digits mixed: too long for a word, and without the separators of paths and sentences.
_RANDOM = re.compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w+=~.-]{20,}")


def confidential(server: McpServer) -> Iterator[str]:
    """Yields the secret values of the server's configuration. The caller masks these values in texts. A plain
    word such as `production` counts as a secret only if its variable, header or option has a name such as
    `password`.
    """
    for name, value in (*server.env.items(), *server.all_headers.items(), *_options(server.args)):
        yield from _of(name, value)


def confidential_values(servers: Mapping[str, McpServer]) -> list[str]:
    return [value for server in servers.values() for value in confidential(server)]


def _of(name: str, value: str) -> Iterator[str]:
    yield from _IN_ADDRESS.findall(value)
    bare = _SCHEME.sub("", value, count=1)
    if len(bare) < MIN_CHARS or value == MASK:  # which stands for what a restart has lost
        return
    if _RANDOM.fullmatch(bare) or (_NAME.search(name) and not _PLAIN.fullmatch(bare)):
        yield from {value, bare}


def _options(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Yields the arguments of a command line as pairs of name and value. `--token=x` and `--token x` both
    yield the name `token` and the value `x`. For an argument that is not an option, the name is empty.
    """
    for at, word in enumerate(arguments):
        option = _OPTION.fullmatch(word)
        if option is None:
            yield "", word
        elif option[2] is not None:
            yield option[1], option[2]
        elif at + 1 < len(arguments) and not arguments[at + 1].startswith("-"):
            yield option[1], arguments[at + 1]
