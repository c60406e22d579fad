"""The demo: a small repository with a failing test, and recorded model replies with which the agent corrects
the error.

The button "try the demo" on the home page and the command `slipway demo` start the demo.
"""

import shutil
import subprocess
from pathlib import Path

PROFILE = "demo"
TASK = "The test suite fails. Find the bug, fix it, and show that all tests pass."
VERIFY_COMMAND = "python3 -m unittest"

_SOURCE = Path(__file__).with_name("sample_repository")
_GIT_IDENTITY = {
    "GIT_AUTHOR_NAME": "Voyage authors",
    "GIT_AUTHOR_EMAIL": "voyage@example.org",
    "GIT_COMMITTER_NAME": "Voyage authors",
    "GIT_COMMITTER_EMAIL": "voyage@example.org",
    # Fixed dates make the commit id the same everywhere.
    "GIT_AUTHOR_DATE": "2026-01-01T12:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T12:00:00Z",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}


def repository_path(home: Path) -> Path:
    """Returns the path of the demo's sample repository in the server's data directory `home`. The repository
    may not exist yet.
    """
    return home / "demo" / "voyage"


def make_repository(home: Path) -> Path:
    """Returns the path of the demo's sample repository in the server's data directory `home`. The first call
    creates the repository with one commit.

    Blocks the caller, because it runs git. Raises CalledProcessError if git fails.
    """
    target = repository_path(home)
    if target.exists():
        return target
    draft = target.with_name("voyage.draft")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(_SOURCE, draft, ignore=shutil.ignore_patterns("__pycache__"))
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all"),
        ("commit", "--quiet", "--message=Add durations and legs"),
    ):
        subprocess.run(["git", "-C", str(draft), *arguments], check=True, env=_GIT_IDENTITY, timeout=60)
    # Renamed last, so that a half-made repository is never used.
    draft.rename(target)
    return target
