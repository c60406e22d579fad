"""Fetches the files of a marketplace with git. A marketplace is a git repository that lists plugins and
skills.

The files are read from a git archive and are never checked out. Therefore links and git hooks in the
repository have no effect.
"""

import asyncio
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

from app_server.core.errors import AppError, StartFailure
from app_server.git.command import GitTimeout, run_git
from app_server.git.pinned_git import way_to
from app_server.http.guarded_client import Guard
from app_server.marketplaces.index import (
    MANIFESTS,
    Files,
    MarketplaceContents,
    UnreadableMarketplace,
    contents_of,
)
from app_server.marketplaces.schemas import Marketplace
from app_server.marketplaces.skill_folders import skill_folders
from app_server.skills.files import MAX_FILE_BYTES, SkillFile

FETCH_SECONDS: Final = 60.0
QUERY_SECONDS: Final = 30.0
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_FILES: Final = 20_000
MAX_MANIFEST_BYTES: Final = 1024 * 1024
MAX_TEXT_BYTES: Final = 4 * 1024 * 1024
_CAUSE_CHARACTERS = 300


async def read_contents(marketplace: Marketplace, guard: Guard | None) -> MarketplaceContents:
    """Fetches the repository of a marketplace and returns the plugins and skills that the marketplace lists
    now.

    guard: checks that the repository's host is not in the server's private network; None means that every
    host is allowed. Raises UnreadableMarketplace if the repository cannot be fetched or read.
    """
    files = await read_files(marketplace, guard)
    return await asyncio.to_thread(_contents, marketplace, files)


def _contents(marketplace: Marketplace, files: Files) -> MarketplaceContents:
    """Returns the plugins and skills in the list of the marketplace, which is a file such as
    `.plugin/marketplace.json` in its repository.

    If the repository contains no such file, returns all skills in the repository and no plugins. Raises
    UnreadableMarketplace if the list is not valid, or if there is neither a list nor a skill.
    """
    if not any(name in files.paths or name in files.left_out for name in MANIFESTS):
        found = skill_folders(files)
        if found.skills:
            skills = tuple(
                SkillFile(origin="public", path=f"public/{marketplace.name}/{one.path}", text=one.text)
                for one in found.skills
            )
            problems = tuple(f"{marketplace.name}: {problem}" for problem in found.problems)
            return MarketplaceContents((), skills, problems)
    return contents_of(marketplace, files)


async def read_files(marketplace: Marketplace, guard: Guard | None) -> Files:
    """Fetches the repository of a marketplace. Returns the paths of its files, and the texts of its Markdown
    files and of its lists of plugins.

    guard: checks that the repository's host is not in the server's private network; None means that every
    host is allowed. Raises UnreadableMarketplace if the repository cannot be fetched or read.
    """
    directory = await asyncio.to_thread(lambda: Path(tempfile.mkdtemp(prefix="slipway-marketplace-")))
    try:
        return await _files(marketplace, directory, guard)
    except GitTimeout as error:
        raise UnreadableMarketplace("git took too long.") from error
    except (AppError, StartFailure) as error:
        cause = error.cause if isinstance(error, StartFailure) else error.detail
        raise UnreadableMarketplace(cause) from error
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


async def _files(marketplace: Marketplace, directory: Path, guard: Guard | None) -> Files:
    way = await way_to(marketplace.url, guard)
    await _git(directory, "init", "--quiet", "--bare", "--template=", ".")
    fetch = ("fetch", "--quiet", "--depth=1", "--no-tags", "--", marketplace.url, marketplace.ref or "HEAD")
    done = await run_git(
        *fetch, directory=directory, timeout_seconds=FETCH_SECONDS, way=way, largest_file_bytes=MAX_BYTES
    )
    if done.exit_code != 0:
        raise UnreadableMarketplace(f"It cannot be fetched: {_cause(done.output)}")
    commit = (await _git(directory, "rev-parse", "FETCH_HEAD^{commit}")).strip()
    archive = directory / "files.tar"
    tree = f"{commit}:{marketplace.repo_path}" if marketplace.repo_path else commit
    await _git(directory, "archive", "--format=tar", f"--output={archive}", tree)
    return await asyncio.to_thread(_read, archive, commit)


async def _git(directory: Path, *arguments: str) -> str:
    done = await run_git(
        *arguments, directory=directory, timeout_seconds=QUERY_SECONDS, largest_file_bytes=MAX_BYTES
    )
    if done.exit_code != 0:
        raise UnreadableMarketplace(f"git {arguments[0]} failed: {_cause(done.output)}")
    return done.output


def _cause(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = lines[-1] if lines else f"it is larger than {MAX_BYTES // 1024**2} MiB"
    return said[-_CAUSE_CHARACTERS:].rstrip(".") + "."


def _read(archive: Path, commit: str) -> Files:
    """Reads the Markdown files and the lists of plugins from a tar archive of the repository's files.
    `commit`: the commit of these files.

    Raises UnreadableMarketplace if the archive is damaged or has too many files. Blocks while it reads the
    disk.
    """
    found = _ArchiveContents()
    try:
        with tarfile.open(archive) as tar:
            for count, member in enumerate(tar, start=1):
                if count > MAX_FILES:
                    raise UnreadableMarketplace(f"It has more than {MAX_FILES} files.")
                found.add(tar, member)
    except tarfile.TarError as error:
        raise UnreadableMarketplace(f"Its files cannot be read: {error}.") from error
    return found.files(commit)


class _ArchiveContents:
    """Collects the paths of the files in a tar archive, and the texts of those files that Slipway needs: the
    Markdown files and the lists of plugins. Also collects why something was left out: a file is too large or
    is not UTF-8 text, or an entry is a link, a submodule or an empty directory.
    """

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._directories: set[str] = set()
        self._texts: dict[str, str] = {}
        self._left_out: dict[str, str] = {}
        self._remaining_bytes = MAX_TEXT_BYTES

    def files(self, commit: str) -> Files:
        names = self._paths | self._directories | self._left_out.keys()
        filled = {str(parent) for path in names for parent in PurePosixPath(path).parents}
        empty = dict.fromkeys(self._directories - filled, "is a submodule or an empty directory")
        return Files(commit, frozenset(self._paths), self._texts, {**empty, **self._left_out})

    def add(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        name = member.name.rstrip("/")
        if member.isdir():
            self._directories.add(name)
        elif not member.isfile():
            self._left_out[name] = "is a link"
        else:
            self._paths.add(name)
            if name in MANIFESTS or name.endswith(".md"):
                self._read(tar, member, MAX_MANIFEST_BYTES if name in MANIFESTS else MAX_FILE_BYTES)

    def _read(self, tar: tarfile.TarFile, member: tarfile.TarInfo, limit: int) -> None:
        if member.size > min(limit, self._remaining_bytes):
            self._left_out[member.name] = (
                f"is too large: over {min(limit, self._remaining_bytes) // 1024} KiB"
            )
            return
        self._remaining_bytes -= member.size
        content = tar.extractfile(member)
        assert content is not None
        try:
            self._texts[member.name] = content.read().decode()
        except UnicodeDecodeError:
            self._left_out[member.name] = "is not UTF-8 text"
