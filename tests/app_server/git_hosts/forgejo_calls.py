"""A client of Forgejo whose calls are checked against its contract."""

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


ALSO = {"GET /repos/{owner}/{repo}/collaborators/{login}/permission": ()}


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


class Nullable(HostContract):
    """The documents do not say which fields may be null. Go writes null for an absent object or list."""

    def _check_answer(self, operation: Any, status: int, answer: Any) -> None:
        super()._check_answer(operation, status, _without_nulls(answer))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def client(host: HostContract) -> Forgejo:
    return client_of(forgejo, host, ORIGIN)


async def failure(call: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        await call
    return caught.value
