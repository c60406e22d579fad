"""A client of GitLab for tests. Its calls are checked against GitLab's OpenAPI document."""

from typing import Any

from app_server.git_hosts.gitlab.client import GitLab, gitlab
from tests.support.host_clients import client_of
from tests.support.host_contract import HostContract

NAME = "grüne gruppe/sub.group/my-repo"


COMMIT = "8e0b45049b6253b8984cde9241830d2851168142"


PERSON: dict[str, Any] = {
    "id": 7,
    "username": "ada",
    "name": "Ada",
    "state": "active",
    "web_url": "https://g/ada",
}


MERGE_REQUEST: dict[str, Any] = {
    "id": 900,
    "iid": 7,
    "project_id": 42,
    "source_project_id": 42,
    "target_project_id": 42,
    "title": "Draft: Fix the login",
    "description": None,
    "state": "opened",
    "draft": True,
    "source_branch": "fix/login",
    "target_branch": "main",
    "sha": COMMIT,
    "author": PERSON,
    "labels": ["bug"],
    "reviewers": [PERSON],
    "web_url": "https://gitlab.example/g/s/my-repo/-/merge_requests/7",
    "detailed_merge_status": "ci_must_pass",
    "has_conflicts": False,
    "references": {"short": "!7", "relative": "!7", "full": f"{NAME}!7"},
    "updated_at": "2026-11-01T10:00:00.000Z",
}


NOTE: dict[str, Any] = {"id": 5, "body": "Looks good", "author": PERSON, "created_at": "2026-11-01T10:00:00Z"}


def client(host: HostContract, token: str | None = None) -> GitLab:
    return client_of(gitlab, host, "https://gitlab.example", token=token)
