"""Sets up a repository inside the sandbox. Each function may be called again after a failure. None of the
functions runs code that the repository contains.
"""

import re
import shlex
from base64 import b64decode
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_runtime.wire import BashOutput
from app_server.agent_client.client import AgentClient
from app_server.conversations.repositories.clone_mode import options_of
from app_server.core.errors import StartFailure
from app_server.git.address import Address
from app_server.git.clone_failures import clone_failed, clone_timed_out
from app_server.git.repository_bundle import PackedRepository
from app_server.settings.cloning import CloneMode

_COMMAND_TIMEOUT_SECONDS = 600
OUTPUT_CHARACTERS = 8192
_NAMES = (("user.name", "Slipway"), ("user.email", "slipway@localhost"))


@dataclass(frozen=True)
class CommitIdentity:
    """The author's name and e-mail address for commits in a sandbox. A field is None if the user has not set
    it.
    """

    name: str | None = None
    email: str | None = None

    @property
    def script(self) -> str:
        """A shell script that sets the author's name and e-mail address in the repository's git
        configuration. If the user has set a value, the script writes this value. If the user has set none,
        the value in git's configuration stays. If git has no value either, the script writes Slipway's own
        name or address.
        """
        own = zip(_NAMES, (self.name, self.email), strict=True)
        return "".join(
            f"git config {key} {shlex.quote(value)}\n"
            if value
            else f"git config {key} >/dev/null || git config {key} {usual}\n"
            for (key, usual), value in own
        )


@dataclass(frozen=True)
class Finished:
    """The result of a command that has ended in the sandbox. `output`: the end of what the command has
    printed.
    """

    exit_code: int
    output: str


async def has_checkout(client: AgentClient, directory: str) -> bool:
    """Returns whether `directory` in the sandbox contains a complete checkout of a repository."""
    return (await _run(client, f"test -e {shlex.quote(directory)}/.git")).exit_code == 0


async def start_empty(client: AgentClient, directory: str, identity: CommitIdentity) -> None:
    """Creates an empty repository in `directory` of the sandbox, unless there is a repository already."""
    quoted_directory = shlex.quote(directory)
    init = (
        f"mkdir -p {quoted_directory} && cd {quoted_directory} && {{ [ -e .git ] || git init -q -b main; }}"
    )
    await must_run(client, f"{init}\n{identity.script}")


async def check_out(
    client: AgentClient, packed: PackedRepository, address: Address, directory: str, identity: CommitIdentity
) -> None:
    """Replaces `directory` in the sandbox with a checkout of the packed repository. After a failure, no
    partial checkout stays in `directory`. The remote `origin` is set to the public address of the repository.
    `packed`: the file into which the app server has packed the fetched repository.
    """
    target = PurePosixPath(directory)
    bundle = str(target.parent / f".{target.name}.bundle")
    if packed.bundle:
        await client.upload_file(packed.bundle, bundle)
    partial = str(target.parent / f".{target.name}.partial")
    branch = shlex.quote(packed.branch) if packed.branch else None
    if packed.bundle:
        at_branch = f"--branch {branch} " if branch else ""
        fill = f"git clone -q {at_branch}-- {shlex.quote(bundle)} {shlex.quote(partial)}"
        origin = "git remote set-url origin"
    else:
        fill = f"git init -q -b {branch or 'main'} {shlex.quote(partial)}"
        origin = "git remote add origin"
    await must_run(
        client,
        f"mkdir -p {shlex.quote(str(target.parent))}\n"
        f"rm -rf {shlex.quote(partial)}\n"
        f"{fill}\n"
        f"cd {shlex.quote(partial)}\n"
        f"{origin} {shlex.quote(address.public_url)}\n"
        f"{identity.script}"
        # The rename comes last, so that the directory is complete when it appears.
        f"cd {shlex.quote(str(target.parent))}\n"
        f"rm -rf {shlex.quote(directory)}\n"
        f"mv {shlex.quote(partial)} {shlex.quote(directory)}\n"
        f"rm -f {shlex.quote(bundle)}",
    )


async def clone_part(
    client: AgentClient,
    address: Address,
    branch: str | None,
    mode: CloneMode,
    directory: str,
    identity: CommitIdentity,
    timeout_seconds: float,
) -> None:
    """Replaces `directory` in the sandbox with a clone that has only a part of the history. Git in the
    sandbox fetches the clone through Slipway's git proxy. After a failure, no partial checkout stays in
    `directory`.

    `branch`: None means the default branch. `mode`: which part of the history is fetched. `identity`: the
    author's name and e-mail address for commits in the clone. `timeout_seconds`: the time limit for the
    clone.

    Raises StartFailure `repository_not_found` if the repository does not exist. Raises StartFailure
    `branch_not_found` if the branch does not exist. Raises StartFailure `repository_clone_failed` for other
    failures.
    """
    target = PurePosixPath(directory)
    partial = str(target.parent / f".{target.name}.partial")
    at_branch = f"--branch {shlex.quote(branch)} " if branch else ""
    script = (
        "set -e\nexec 2>&1\n"
        f"mkdir -p {shlex.quote(str(target.parent))}\n"
        f"rm -rf {shlex.quote(partial)}\n"
        f"git clone -q {options_of(mode)} {at_branch}-- "
        f"{shlex.quote(address.public_url)} {shlex.quote(partial)}"
    )
    cloned = await _run(client, script, timeout_seconds=max(1, int(timeout_seconds)))
    if cloned.exit_code == -1:
        raise clone_timed_out(address, timeout_seconds, cloned.output)
    if cloned.exit_code != 0:
        raise clone_failed(address, cloned.output, branch)
    await must_run(
        client,
        f"cd {shlex.quote(partial)}\n"
        f"{identity.script}"
        f"cd {shlex.quote(str(target.parent))}\n"
        f"rm -rf {shlex.quote(directory)}\n"
        f"mv {shlex.quote(partial)} {shlex.quote(directory)}",
    )


_MISSING, _LINKED = 3, 4
_NAMED_FOLDERS = 20


async def require_folder(client: AgentClient, directory: str, folder: str) -> None:
    """Checks that the repository at `directory` in the sandbox contains `folder`, and that no part of the
    folder's path is a symbolic link.

    Raises StartFailure `directory_not_found` if the folder does not exist. Raises StartFailure
    `directory_outside_repository` if a part of the path is a symbolic link.
    """
    result = await _run(
        client,
        f'root="$(realpath -- {shlex.quote(directory)})"\nplace="$root"/{shlex.quote(folder)}\n'
        f'[ "$(realpath -m -- "$place")" = "$place" ] || exit {_LINKED}\n'
        '[ -d "$place" ] && exit 0\n'
        f'git -C "$root" ls-tree -d --name-only HEAD 2>/dev/null | head -n {_NAMED_FOLDERS}\n'
        f"exit {_MISSING}",
    )
    if result.exit_code == _LINKED:
        raise StartFailure(
            "directory_outside_repository",
            f"{folder} leads through a symbolic link.",
            fix="Name the folder that the link leads to, if it is in the repository.",
        )
    if result.exit_code == _MISSING:
        there = ", ".join(result.output.split("\n")[:_NAMED_FOLDERS]).strip(", ")
        raise StartFailure(
            "directory_not_found",
            f"The checked-out branch has no folder {folder}."
            + (f" Folders at its root: {there}." if there else ""),
            fix="Retry with another folder, or with a branch that has it.",
        )
    if result.exit_code != 0:
        raise StartFailure(
            "repository_clone_failed",
            f"The folder {folder} could not be looked at.",
            fix="Read the output; retry when its cause is gone.",
            output=result.output,
        )


async def submodule_settings(client: AgentClient, directory: str) -> str:
    """Returns the `.gitmodules` file of the checked-out commit in the format of `git config --list -z`.
    Returns an empty text if the commit has no such file or if git cannot read the file.
    """
    read = "git config -z --blob HEAD:.gitmodules --list 2>/dev/null | head -c 100000 | base64 -w 0"
    output = await client.execute_command(read, cwd=directory, timeout_seconds=_COMMAND_TIMEOUT_SECONDS)
    return b64decode(output.stdout or "").decode(errors="replace")


async def fetch_submodule(
    client: AgentClient, directory: str, path: str, mode: CloneMode, timeout_seconds: float
) -> str | None:
    """Fetches a submodule of the repository through Slipway's git proxy and checks the submodule out. Returns
    None on success. Otherwise returns the reason of the failure, as a short text.

    `directory`: the directory of the repository in the sandbox. `path`: the submodule's folder in the
    repository. `mode`: how much of the submodule's history is fetched. `timeout_seconds`: the time limit.
    """
    quoted_path = shlex.quote(path)
    # `--checkout`: the repository must not choose a command. No other protocol runs a program here.
    update = "git submodule -q update --init --checkout"
    part = {CloneMode.FULL: "", CloneMode.SHALLOW: "--depth=1", CloneMode.BLOBLESS: "--filter=blob:none"}[
        mode
    ]
    result = await _run(
        client,
        "exec 2>&1\nexport GIT_ALLOW_PROTOCOL=http:https GIT_TERMINAL_PROMPT=0\n"
        # Some hosts give no part of a commit that is no tip of a branch.
        f"{update} {part} -- {quoted_path} || {update} -- {quoted_path}",
        directory,
        max(1, int(timeout_seconds)),
    )
    if result.exit_code == 0:
        return None
    lines = [line for line in result.output.splitlines() if line.startswith(("remote:", "fatal:", "error:"))]
    said = re.sub(r"^(remote: |fatal: |error: )(remote error: )?", "", lines[0]) if lines else ""
    return said[:300].rstrip(". ") or "git could not fetch it"


async def head_commit(client: AgentClient, directory: str) -> str | None:
    """Returns the hash of the commit that is checked out in `directory`. Returns None if the repository has
    no commit yet.
    """
    result = await _run(client, f"git -C {shlex.quote(directory)} rev-parse --verify -q HEAD")
    commit = result.output.strip()
    return commit if re.fullmatch(r"[0-9a-f]{40,64}", commit) else None


async def must_run(client: AgentClient, script: str, directory: str | None = None) -> None:
    """Runs one of Slipway's own scripts in the sandbox. `directory`: the directory in which the script runs;
    None means the default directory of the agent server. Raises StartFailure `repository_clone_failed` if the
    script fails.
    """
    result = await _run(client, f"set -e\nexec 2>&1\n{script}", directory)
    if result.exit_code != 0:
        raise StartFailure(
            "repository_clone_failed",
            "The repository could not be set up in the sandbox.",
            fix="Read the output; fix the cause, then retry.",
            output=result.output,
        )


async def _run(
    client: AgentClient,
    script: str,
    directory: str | None = None,
    timeout_seconds: int = _COMMAND_TIMEOUT_SECONDS,
) -> Finished:
    # A shell of our own: what the script sets or exits ends with it.
    command = f"bash -c {shlex.quote(script)}"
    return _finished(await client.execute_command(command, cwd=directory, timeout_seconds=timeout_seconds))


def _finished(output: BashOutput) -> Finished:
    text = (output.stdout or "") + (output.stderr or "")
    return Finished(-1 if output.exit_code is None else output.exit_code, text[-OUTPUT_CHARACTERS:])
