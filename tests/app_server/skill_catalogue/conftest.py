"""Fixtures for the tests of the skill catalogue: a git host with an empty repository for skills."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.git_host import GitHost


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "host") as host:
        host.make("team/skills")
        yield host
