"""The installed packages of the product stay below a limit of disk space."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from scripts.prune_environment import MOSTLY_UNUSED

ROOT = Path(__file__).parents[2]
LIMIT_BYTES = 305 * 10**6
"""The limit for all packages. An environment takes 350 MB: it also has folders, pip, setuptools and later
bytecode.
"""
_BLOCK = 512


def test_the_packages_of_the_product_stay_below_their_limit() -> None:
    sizes = {name: _bytes_of(name) for name in _locked("requirements.lock")}

    largest = sorted(sizes, key=lambda name: -sizes[name])[:10]
    assert len(sizes) > 100
    assert sum(sizes.values()) <= LIMIT_BYTES, [(name, sizes[name] // 10**6) for name in largest]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-sandbox.lock", "requirements-dev.lock"])
def test_no_lock_has_a_package_that_is_left_out(lock: str) -> None:
    left_out = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["exclude-dependencies"]

    assert left_out
    assert _locked(lock) & set(left_out) == set()


def _locked(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+)==", (ROOT / lock).read_text(), re.MULTILINE))


def _bytes_of(name: str) -> int:
    """Returns the disk space of a package's files and bytecode. For packages in MOSTLY_UNUSED the bytecode
    does not count, since tests may have written it. A package that is not installed takes nothing.
    """
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return 0
    paths = {Path(file.locate()) for file in files}
    if name not in MOSTLY_UNUSED:
        paths |= {Path(cache_from_source(str(path))) for path in paths if path.suffix == ".py"}
    return sum(path.stat().st_blocks * _BLOCK for path in paths if path.exists())
