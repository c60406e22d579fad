"""Runs git on the app server's machine. Git ignores the git configuration of this machine."""

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.time_limits import time_limit
from app_server.core.background import finish
from app_server.git.certificate_authorities import authorities_file
from app_server.git.pinned_git import GitConnectionOptions
from app_server.http.additional_trust import AdditionalTrust

OUTPUT_CHARACTERS = 8192
END_SECONDS = 10.0
"""How long run_git waits, in seconds, until a killed git has ended and its output is closed."""
_PASSED_ON = ("PATH", "http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE")
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "credential.helper": "",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "60",
}
# The server's own keys must not open repositories for every user who may start a conversation.
_SSH = (
    "ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o IdentityFile=/dev/null -o IdentityAgent=none"
    " -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=known_hosts -o ConnectTimeout=20"
)


# A credential helper that only answers `get`; it stores and erases nothing.
_ANSWER = (
    """!f() { [ "$1" = get ] && printf 'username=%s\\npassword=%s\\n' """
    '"$SLIPWAY_GIT_USERNAME" "$SLIPWAY_GIT_PASSWORD"; }; f'
)


@dataclass(frozen=True)
class Credentials:
    """A user name and a password for a git host. git sends them only to the server at `origin` (scheme, host
    and port), even after a redirect. `authorities`: the certificate authorities, as PEM, that are trusted for
    this server in addition to the usual ones; None if there are none.
    """

    origin: str
    username: str
    password: str
    authorities: str | None = None

    @property
    def trust(self) -> AdditionalTrust | None:
        """The additional certificate authorities of these credentials, for HTTP clients that call the git
        host. None if the credentials contain none.
        """
        return AdditionalTrust(self.authorities, (self.origin,)) if self.authorities else None


@dataclass(frozen=True)
class GitResult:
    """The exit code and output of a git command. `output`: the end of stdout and stderr together, at most 200
    lines and 8192 characters.
    """

    exit_code: int
    output: str


class GitTimeout(Exception):
    def __init__(self, output: str) -> None:
        super().__init__("git took too long")
        self.output = output


async def run_git(
    *arguments: str,
    directory: Path,
    timeout_seconds: float,
    report: Callable[[str], None] | None = None,
    credentials: Credentials | None = None,
    way: GitConnectionOptions | None = None,
    largest_file_bytes: int | None = None,
) -> GitResult:
    """Runs git in `directory`, which is also git's home directory, and returns the exit code and output.

    `report`: a function that is called with each progress line of git. `credentials`: git sends them to the
    git host; they never appear on a command line, where every user of this machine could read them. `way`:
    settings and ssh options for the connection to the git host (see `pinned_git.way_to`); None means that git
    connects with its default options. `largest_file_bytes`: git fails as soon as it writes a larger file;
    None means no limit.

    Raises GitTimeout after `timeout_seconds`. When the function ends, also after an error or a cancellation,
    all processes of the git command have ended and the output is closed.
    """
    with _trusted(credentials) as trusted:
        start = asyncio.create_subprocess_exec(
            *_program(largest_file_bytes),
            *arguments,
            cwd=directory,
            env=_environment(directory, credentials, way or GitConnectionOptions(), trusted),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        # A start that is cancelled half-way would leave programs of git behind.
        starting = asyncio.create_task(start, name="start git")
        tail = _Tail()
        try:
            process = await asyncio.shield(starting)
            async with time_limit(timeout_seconds):
                await _follow(process, tail, report)
                return GitResult(await process.wait(), tail.text)
        except TimeoutError:
            raise GitTimeout(tail.text) from None
        finally:
            await finish(_end(starting))


def _program(largest_file_bytes: int | None) -> tuple[str, ...]:
    if largest_file_bytes is None:
        return ("git",)
    # The shell counts in blocks of 512 bytes.
    return ("sh", "-c", f'ulimit -f {largest_file_bytes // 512} && exec git "$@"', "git")


class _Tail:
    """A buffer that stores only the last lines of the output of a git command."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=200)

    def add(self, line: str) -> None:
        self._lines.append(line)

    @property
    def text(self) -> str:
        return "\n".join(self._lines)[-OUTPUT_CHARACTERS:]


async def _follow(
    process: asyncio.subprocess.Process, tail: _Tail, report: Callable[[str], None] | None
) -> None:
    assert process.stdout is not None
    rest = ""
    while piece := await process.stdout.read(65536):
        # git rewrites its progress line with carriage returns; only the last state of each counts.
        *lines, rest = (rest + piece.decode(errors="replace")).split("\n")
        for line in lines:
            tail.add(line.rsplit("\r", 1)[-1])
        current = next((part for part in reversed(rest.split("\r")) if part), "")
        if report and (latest := current or (lines[-1] if lines else "")):
            report(latest.strip())
        rest = rest[-OUTPUT_CHARACTERS:]
    if rest:
        tail.add(rest.rsplit("\r", 1)[-1])


async def _end(starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
    process = await starting
    assert process.stdout is not None
    if process.returncode is not None and process.stdout.at_eof():
        return
    # git may have ended already, but not the programs that it has started.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # An open pipe could outlive the event loop that reads it. A program that has left the group of git may
    # hold it for any time.
    with contextlib.suppress(TimeoutError):
        async with time_limit(END_SECONDS):
            await process.communicate()


def _environment(
    home: Path, credentials: Credentials | None, way: GitConnectionOptions, trusted: Mapping[str, str]
) -> dict[str, str]:
    settings, secrets = {**_SETTINGS, **way.settings, **trusted}, {}
    if credentials:
        settings = {**settings, f"credential.{credentials.origin}.helper": _ANSWER}
        secrets = {
            "SLIPWAY_GIT_USERNAME": credentials.username,
            "SLIPWAY_GIT_PASSWORD": credentials.password,
        }
    return {
        **secrets,
        **_as_environment(settings),
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        # A local repository must not make git fetch missing objects with a program that the repository names.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "true",
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "GIT_SSH_COMMAND": _SSH + way.ssh_options,
    }


@contextlib.contextmanager
def _trusted(credentials: Credentials | None) -> Iterator[dict[str, str]]:
    """Yields git settings that name the certificate authorities to trust. For all servers, these are the
    authorities that the HTTP clients of the app server trust. For the server of the credentials, the
    authorities in the credentials are added. The settings are needed because git does not read the
    environment variable SSL_CERT_FILE.
    """
    usual = os.environ.get("GIT_SSL_CAINFO") or os.environ.get("SSL_CERT_FILE")
    settings = {"http.sslCAInfo": usual} if usual else {}
    if credentials is None or credentials.authorities is None:
        yield settings
        return
    with authorities_file(credentials.authorities, usual) as file:
        yield {**settings, f"http.{credentials.origin}.sslCAInfo": str(file)}


def _as_environment(settings: dict[str, str]) -> dict[str, str]:
    """Returns git settings as environment variables for git, in the same order. These settings override the
    settings of every configuration file.
    """
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (name, value) in enumerate(settings.items()):
        numbered |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return numbered
