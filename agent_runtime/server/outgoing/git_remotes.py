"""Stores the repositories that git commands in this sandbox reach through the server's relay, and how git
signs commits. Writes these settings as git configuration.

Git uses the written file in place of the system-wide configuration /etc/gitconfig, which the file includes.
The configuration files of users and agents are not changed. In the repositories, the remotes still have their
public URLs. Git replaces these by URLs of the relay only when it connects.
"""

import logging
import os
import shlex
import sys
import threading
from pathlib import Path

from pydantic import ValidationError

from agent_runtime.server.outgoing import sign_commit
from agent_runtime.server.saved.atomic_write import read_file, replace_file
from agent_runtime.wire import GitRemotes
from agent_runtime.workspace.private_tree import directory_for_commands

logger = logging.getLogger(__name__)

VARIABLE = "GIT_CONFIG_SYSTEM"
_HEAD = """\
# Written by the agent server. What it names is reached through the app server.
[include]
\tpath = /etc/gitconfig
[http "{outlet}/"]
\tproxy =
"""


# Tags are signed on request (`git tag -s`): else each plain tag would need a message.
_SIGNING = """\
[gpg]
\tformat = ssh
[gpg "ssh"]
\tprogram = "{program}"
[user]
\tsigningKey = "{key}"
[commit]
\tgpgSign = true
"""
_PROGRAM = """\
#!/bin/sh
# Written by the agent server. Git calls it to have commits signed by the app server.
exec {python} -I {file} {url} "$@"
"""
SIGNATURES = "commit-signatures"
"""The last part of the URL at which the app server signs commits. In the URLs of repositories, the name of
the repository is at this place.
"""


class RemotesFile:
    """Reads and writes three files that configure git for the commands of the sandbox. The first file stores
    the repositories and the signing settings for the next start of the server. The second file is the git
    configuration through which git reaches these repositories by the server's relay. The third file is
    written only if commits are signed: the program that git calls to sign a commit.

    All files are small. Writing them blocks the caller. Commands find the git configuration by the variable
    GIT_CONFIG_SYSTEM.
    """

    def __init__(self, directory: Path, outlet_url: str) -> None:
        self._remotes_path = directory / ".git-remotes.json"
        self._settings = directory_for_commands(directory) / ".gitconfig"
        self._program = directory_for_commands(directory) / ".sign-commit"
        self._git_relay_url = outlet_url
        # Keeps both files consistent if several requests write at the same time.
        self._writing = threading.Lock()

    def open(self) -> None:
        """Writes the git configuration from the stored settings, and makes commands that start later use it.
        The settings are those of the last call of `set`, even if the server was restarted after that call.
        """
        self._write(self._read())
        os.environ[VARIABLE] = str(self._settings)

    def set(self, remotes: GitRemotes) -> None:
        with self._writing:
            replace_file(self._remotes_path, remotes.model_dump_json().encode())
            self._write(remotes)

    def _read(self) -> GitRemotes:
        try:
            return GitRemotes.model_validate_json(read_file(self._remotes_path))
        except FileNotFoundError:
            return GitRemotes(remotes=())
        except ValidationError:
            # If there is only one user, commands can write to this file.
            logger.warning("the remotes of git cannot be read", extra={"path": str(self._remotes_path)})
            return GitRemotes(remotes=())

    def _write(self, remotes: GitRemotes) -> None:
        parts = [_HEAD.format(outlet=self._git_relay_url.rpartition("/")[0])]
        for remote in remotes.remotes:
            parts.append(f'[url "{self._git_relay_url}/{remote.name}"]\n')
            parts += [f'\tinsteadOf = "{address}"\n' for address in remote.addresses]
        if remotes.signing is not None:
            self._write_program()
            parts.append(_SIGNING.format(program=self._program, key=remotes.signing.public_key))
        replace_file(self._settings, "".join(parts).encode(), is_for_commands=True)

    def _write_program(self) -> None:
        words = (sys.executable, sign_commit.__file__, f"{self._git_relay_url}/{SIGNATURES}")
        python, file, url = map(shlex.quote, words)
        text = _PROGRAM.format(python=python, file=file, url=url)
        replace_file(self._program, text.encode(), is_for_commands=True, is_program=True)
