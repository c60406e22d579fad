"""Tests of repositories on the server's machine: which ones a member may use."""

from pathlib import Path

import pytest

from app_server import demo
from app_server.core.errors import StartFailure
from app_server.git.address import parse_address
from app_server.git.local_repositories import refuse_foreign_path


def test_a_member_may_use_the_sample_repository_and_no_other(tmp_path: Path) -> None:
    home = tmp_path / "home"
    sample = demo.make_repository(home)
    refuse_foreign_path(parse_address(str(sample)), home, administers=False)
    for other in (home, sample / "..", sample.parent / "other", tmp_path / "demo" / "voyage"):
        with pytest.raises(StartFailure) as refused:
            refuse_foreign_path(parse_address(str(other)), home, administers=False)
        assert refused.value.code == "repository_not_allowed"
        refuse_foreign_path(parse_address(str(other)), home, administers=True)
