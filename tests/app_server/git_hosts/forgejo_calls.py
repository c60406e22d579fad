"""A client of Forgejo for tests. Its calls are checked against Forgejo's OpenAPI document."""

from typing import Any

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.forgejo.client import Forgejo, forgejo
from tests.support.host_clients import client_of
from tests.support.host_contract import HostContract

NAME = "team/harbour"


ORIGIN = "https://git.example"


COMMIT = "8e0b45049b6253b8984cde9241830d2851168142"


BRANCH = "fix/ä depth#1"


Values = dict[str, Any]


ADA: Values = {"id": 7, "login": "ada", "full_name": "", "email": "ada@git.example", "avatar_url": ""}


REPOSITORY: Values = {
    "id": 42,
    "full_name": NAME,
    "clone_url": f"{ORIGIN}/{NAME}.git",
    "html_url": f"{ORIGIN}/{NAME}",
    "private": True,
    "default_branch": "main",
    "permissions": {"admin": False, "push": True, "pull": True},
    "stars_count": 3,
    "updated_at": "2026-11-01T10:00:00Z",
    "parent": None,
}


PULL: Values = {
    "id": 900,
    "number": 7,
    "title": "WIP: Fix the depth",
    "body": "",
    "html_url": f"{ORIGIN}/{NAME}/pulls/7",
    "state": "open",
    "draft": True,
    "merged": False,
    "mergeable": True,
    "head": {"label": BRANCH, "ref": BRANCH, "sha": COMMIT, "repo": REPOSITORY},
    "base": {"label": "main", "ref": "main", "sha": COMMIT, "repo": REPOSITORY},
    "user": ADA,
    "labels": [{"id": 1, "name": "bug"}],
    "requested_reviewers": None,
    "updated_at": "2026-11-01T10:00:00Z",
}


COMMENT: Values = {
    "id": 5,
    "body": "Is it not 5?",
    "user": ADA,
    "created_at": "2026-11-01T10:00:00Z",
    "html_url": f"{ORIGIN}/{NAME}/pulls/7#issuecomment-5",
}


def client(host: HostContract) -> Forgejo:
    return client_of(forgejo, host, ORIGIN)


async def failure(call: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        await call
    return caught.value
