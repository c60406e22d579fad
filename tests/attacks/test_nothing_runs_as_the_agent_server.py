"""The agent server starts all its processes as the user of the agent. Therefore only a few modules may start
processes.
"""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "agent_runtime"
# The modules that start processes of a sandbox, directly or in the command namespaces, and the library's
# module for Docker. The agent's git starts `sign_commit.py` as the user of the agent.
ALLOWED = {
    "workspace/users.py",
    "workspace/command_namespaces.py",
    "workspace/spawner.py",
    "client/docker_cli.py",
    "server/outgoing/sign_commit.py",
}
STARTERS = {
    "create_subprocess_exec",
    "create_subprocess_shell",
    "subprocess_exec",
    "subprocess_shell",
    "Popen",
}
OF_OS = {"fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp"}


def test_processes_are_started_in_one_place() -> None:
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if any(starts_a_process(node) for node in ast.walk(ast.parse(file.read_text())))
    }

    assert found == ALLOWED


def starts_a_process(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(one.name in {"subprocess", "multiprocessing"} for one in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.module in {"subprocess", "multiprocessing"}
    if not isinstance(node, ast.Attribute):
        return False
    is_of_os = isinstance(node.value, ast.Name) and node.value.id == "os"
    return node.attr in STARTERS or (
        is_of_os and (node.attr in OF_OS or node.attr.startswith(("exec", "spawn")))
    )
