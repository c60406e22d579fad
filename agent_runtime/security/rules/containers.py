"""Contains functions that the table of security rules uses. The functions check whether a container could
change or read files of the machine, and whether a command deletes volumes.
"""

import re

from agent_runtime.security import path_policy
from agent_runtime.security.rules.environment import assignments
from agent_runtime.security.shell.calls import Call
from agent_runtime.security.shell.words import Word

_OPENING = re.compile(
    r"--(privileged|cap-add|device)\b|--(pid|network|net|ipc|userns|uts)=host|seccomp=unconfined|apparmor=unconfined"
    r"|docker\.sock|^-H$|^--host\b"
)
_MOUNT = re.compile(r"(-\w*v=?|--volume=|--mount=.*?(source|src)=)(?P<path>[/~.][^:,]*)", re.DOTALL)
_NEVER_MOUNTED = re.compile(r"/(etc|root|home|var|proc|sys)?/?\Z|~/?\Z")


def opens_machine(call: Call, workspace: str) -> bool:
    pairs = [f"{one}={other}" for one, other in zip(call.texts, call.texts[1:], strict=False)]
    return any(name == "DOCKER_HOST" for name, _ in assignments(call)) or any(
        _OPENING.search(text) or _opens_files_of_host(call, text, workspace) for text in (*call.texts, *pairs)
    )


def deletes_volumes(call: Call, workspace: str) -> bool:
    """Returns whether the command deletes volumes, as in `docker volume rm`, `docker system prune --volumes`
    and `docker compose down -v`.
    """
    del workspace
    words = [word.text for word in call.operands]
    if "volume" in words[:1]:
        return not {"rm", "remove", "prune"}.isdisjoint(words[1:2])
    if words[:2] == ["system", "prune"]:
        return call.has("--volumes")
    is_compose = call.name == "docker-compose" or "compose" in words[:1]
    return is_compose and "down" in words and call.has("-v", "--volumes")


def _opens_files_of_host(call: Call, text: str, workspace: str) -> bool:
    """Returns whether an option of a container command gives the container dangerous access to files of this
    machine outside the workspace. `text`: the value of the option, such as the mount `/etc:/etc`.

    Write access is always dangerous. Read-only access is dangerous only for files with credentials, and for
    whole directories such as `/` and `/etc`.
    """
    mount = _MOUNT.match(text)
    path = call.path(Word(mount["path"])) if mount else None
    if path is None or path_policy.is_inside(path, workspace):
        return False
    is_read_only = re.search(r":(\w+,)*ro\b|\breadonly\b|,ro\b", text) is not None
    return not is_read_only or bool(_NEVER_MOUNTED.match(path)) or path_policy.is_credential(path)
