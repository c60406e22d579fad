"""Fetches the files of a marketplace. Nothing is checked out, so neither links nor hooks have an effect."""

import asyncio
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

from app_server.core.errors import AppError
from app_server.git.command import GitTimeout, run_git
from app_server.git.pinned_git import way_to
from app_server.http.guarded_client import Guard
from app_server.marketplaces.index import MANIFESTS, Files, Offers, UnreadableMarketplace, offers_of
from app_server.marketplaces.schemas import Marketplace
from app_server.skills.files import MAX_FILE_BYTES

FETCH_SECONDS: Final = 60.0
QUERY_SECONDS: Final = 30.0
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_FILES: Final = 20_000
MAX_MANIFEST_BYTES: Final = 1024 * 1024
MAX_TEXT_BYTES: Final = 4 * 1024 * 1024
_CAUSE_CHARACTERS = 300


async def read_offers(marketplace: Marketplace, guard: Guard | None) -> Offers:
    """Returns the plugins and skills that a marketplace offers now.

    guard: keeps the user from reaching hosts in the server's private network; None allows every host.
    Raises UnreadableMarketplace.
    """
    directory = await asyncio.to_thread(lambda: Path(tempfile.mkdtemp(prefix="slipway-marketplace-")))
    try:
        files = await _files(marketplace, directory, guard)
        return await asyncio.to_thread(offers_of, marketplace, files)
    except GitTimeout as error:
        raise UnreadableMarketplace("git took too long.") from error
    except AppError as error:
        raise UnreadableMarketplace(error.detail) from error
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
    """Reads the lists and the skills from the archive. Raises UnreadableMarketplace. Blocking."""
    paths: set[str] = set()
    texts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    room = MAX_TEXT_BYTES
    try:
        with tarfile.open(archive) as tar:
            for count, member in enumerate(tar, start=1):
                if count > MAX_FILES:
                    raise UnreadableMarketplace(f"It has more than {MAX_FILES} files.")
                path = PurePosixPath(member.name)
                if not member.isfile():
                    if not member.isdir():
                        left_out[member.name] = "is a link"
                    continue
                paths.add(member.name)
                is_manifest = member.name in MANIFESTS
                if not is_manifest and path.suffix != ".md":
                    continue
                limit = MAX_MANIFEST_BYTES if is_manifest else MAX_FILE_BYTES
                if member.size > min(limit, room):
                    left_out[member.name] = f"is too large: over {min(limit, room) // 1024} KiB"
                    continue
                room -= member.size
                content = tar.extractfile(member)
                assert content is not None
                try:
                    texts[member.name] = content.read().decode()
                except UnicodeDecodeError:
                    left_out[member.name] = "is not UTF-8 text"
    except tarfile.TarError as error:
        raise UnreadableMarketplace(f"Its files cannot be read: {error}.") from error
    return Files(commit, frozenset(paths), texts, left_out)
