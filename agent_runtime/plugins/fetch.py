"""Fetches a plugin (skills, hooks, sub-agents and MCP servers) from a directory of this machine, or from a
git repository at one commit.
"""

import asyncio
import hashlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from agent_runtime.plugins.plugin import PluginNotFetchedError
from agent_runtime.workspace.environment import command_environment
from agent_runtime.workspace.processes import Completed, run_program

_SHORTHAND = re.compile(r"github:(?P<repository>[\w.-]+/[\w.-]+)(?:/(?P<path>.+))?")
_URL = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")
_COMMIT = re.compile(r"[0-9a-f]{40}")
MAX_CAUSE_CHARS = 500


class FetchTimeoutError(PluginNotFetchedError):
    """The error that is raised when a plugin could not be fetched because the git repository did not respond
    in time.
    """

    code = "plugin_fetch_timeout"


@dataclass(frozen=True)
class Fetched:
    """A plugin that is available in a directory of this machine.

    `path`: the plugin's directory. `commit`: the commit at which the plugin was fetched; None for a plugin
    that was not fetched from a repository.
    """

    path: Path
    commit: str | None


async def fetch(
    source: str, *, ref: str | None, repo_path: str | None, store: Path, timeout_seconds: float = 60
) -> Fetched:
    """Fetches a plugin and returns its directory. `source`: a directory of this machine, or a git repository,
    which is fetched to a directory below `store`. `ref`: the branch, tag or commit; None means the default
    branch. `repo_path`: the plugin's directory inside the source; None means the root, or the path that a
    source such as `github:OWNER/NAME/PATH` contains. `timeout_seconds`: the time limit of each git command.

    If `ref` is the full hash of a commit that was fetched before, nothing is fetched. Raises
    PluginNotFetchedError if the source cannot be read, and its subclass FetchTimeoutError if a git command
    takes too long.
    """
    shorthand = _SHORTHAND.fullmatch(source)
    if shorthand:
        repo_path = repo_path or shorthand["path"]
        source = f"https://github.com/{shorthand['repository']}.git"
    elif not _URL.match(source):
        return Fetched(await asyncio.to_thread(_of_this_machine, source, repo_path), commit=None)
    if ref is not None and ref.startswith("-"):
        raise PluginNotFetchedError("A ref does not begin with a dash.")
    repository = await _repository(source, ref, store, timeout_seconds)
    return Fetched(_inside(repository, repo_path), commit=repository.name)


async def _repository(url: str, ref: str | None, store: Path, timeout_seconds: float) -> Path:
    """Fetches one commit of a git repository and returns the directory with its files. The directory is below
    `store` and has the commit's hash as its name.

    `url`: the repository's URL. `ref`: the branch, tag or commit; None means the default branch. If `ref` is
    the full hash of a commit that was fetched before, nothing is fetched. `timeout_seconds`: the time limit
    of each git command.
    """
    home = store / hashlib.sha256(url.encode()).hexdigest()[:16]
    if ref and _COMMIT.fullmatch(ref) and (home / ref).is_dir():
        return home / ref
    fresh = home / f".fetch-{uuid4().hex}"
    fresh.mkdir(parents=True)
    try:
        await _git(fresh, timeout_seconds, "init", "--quiet")
        await _git(fresh, timeout_seconds, "fetch", "--quiet", "--depth=1", "--", url, ref or "HEAD")
        await _git(fresh, timeout_seconds, "checkout", "--quiet", "--detach", "FETCH_HEAD")
        commit = (await _git(fresh, timeout_seconds, "rev-parse", "HEAD")).stdout.decode().strip()
        if not (home / commit).exists():
            fresh.rename(home / commit)
        return home / commit
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _of_this_machine(source: str, repo_path: str | None) -> Path:
    try:
        return _inside(Path(source).expanduser(), repo_path)
    except (OSError, ValueError, RuntimeError) as error:
        # For example: the path is too long, has a null byte, or names the home of an unknown user.
        raise PluginNotFetchedError(f"No directory can be called {source[:MAX_CAUSE_CHARS]}.") from error


def _inside(directory: Path, repo_path: str | None) -> Path:
    if not directory.is_dir():
        raise PluginNotFetchedError(f"There is no directory {directory}.")
    found = (directory / (repo_path or "")).resolve()
    if not found.is_relative_to(directory.resolve()):
        raise PluginNotFetchedError("`repo_path` leads out of the repository.")
    if not found.is_dir():
        raise PluginNotFetchedError(f"The repository has no directory {repo_path}.")
    return found


async def _git(directory: Path, timeout_seconds: float, *arguments: str) -> Completed:
    try:
        done = await run_program(
            "git",
            *arguments,
            cwd=directory,
            environment=_environment(),
            timeout_seconds=timeout_seconds,
        )
    except TimeoutError as error:
        raise FetchTimeoutError(f"git did not end within {timeout_seconds:g} seconds.") from error
    if done.exit_code:
        said = done.stderr.decode(errors="replace").strip()
        raise PluginNotFetchedError(f"git {arguments[0]} failed: {said[-MAX_CAUSE_CHARS:]}")
    return done


def _environment() -> Mapping[str, str]:
    """Returns the environment variables for git. With these variables, git asks the user no questions and
    does not read its system-wide configuration.
    """
    return command_environment(
        {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        }
    )
