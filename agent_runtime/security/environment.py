"""Variables by which a program is made to run something else than it was asked to."""

import re
from collections.abc import Iterable

from agent_runtime.security.calls import Call
from agent_runtime.security.rule import of

_LOADS = of(
    "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV PROMPT_COMMAND PYTHONSTARTUP PYTHONHOME PERL5OPT "
    "PERL5DB RUBYOPT GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EXEC_PATH "
    "GIT_TEMPLATE_DIR GIT_CONFIG_GLOBAL GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS"
)
_RUN_ON_PURPOSE = of(
    "EDITOR VISUAL PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_ASKPASS SSH_ASKPASS MANPAGER BROWSER"
)
_PLAIN = re.compile(r"(|:|true|false|cat|less|more|vi|vim|nano|/bin/true|/bin/cat|echo)\Z")
_HARMFUL_NODE = re.compile(r"--?(require|import|r|loader|experimental-loader)\b")


def loads_code(call: Call, workspace: str) -> bool:
    del workspace
    given = list(call.command.assigned)
    if call.name in {"export", "declare", "typeset", "readonly", "local", "env"}:
        pairs = (text.partition("=") for text in call.texts if "=" in text)
        given += [(name, value) for name, _, value in pairs]
    return _any_loads(given)


def _any_loads(given: Iterable[tuple[str, str | None]]) -> bool:
    for name, value in given:
        if name in _LOADS:
            return True
        if name in _RUN_ON_PURPOSE and not _PLAIN.match(value or "?"):
            return True
        if name == "NODE_OPTIONS" and _HARMFUL_NODE.search(value or ""):
            return True
    return False
