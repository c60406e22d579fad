"""Replies of the routes that search git hosts, with the field names of OpenHands' API, because Slipway
accepts OpenHands' clients.
"""

from typing import Self

from pydantic import BaseModel

from app_server.core.database import Timestamp
from app_server.core.pagination import Page
from app_server.git.providers import GitProvider
from app_server.git_hosts.connect import ConnectedHost
from app_server.git_hosts.schemas import HostBranch, HostRepository, HostTask, OwnerKind, TaskKind


class Repository(BaseModel):
    """A repository at a git host, in a reply of the search routes. `clone_url`: the address of the
    repository. A client sends it to Slipway to start a conversation that works on this repository.
    `link_header`: always null; the field exists because OpenHands' clients expect it.
    """

    id: str
    full_name: str
    git_provider: GitProvider
    is_public: bool
    stargazers_count: int | None = None
    link_header: None = None
    pushed_at: Timestamp | None = None
    owner_type: OwnerKind | None = None
    main_branch: str | None = None
    clone_url: str
    can_push: bool | None = None
    is_archived: bool = False

    @classmethod
    def of(cls, found: HostRepository, provider: GitProvider) -> Self:
        return cls(
            id=found.id,
            full_name=found.full_name,
            git_provider=provider,
            is_public=found.is_public,
            stargazers_count=found.stars,
            pushed_at=found.pushed_at,
            owner_type=found.owner_kind,
            main_branch=found.default_branch,
            clone_url=found.clone_url,
            can_push=found.can_push,
            is_archived=found.is_archived,
        )


class Branch(BaseModel):
    name: str
    commit_sha: str
    protected: bool
    last_push_date: Timestamp | None = None

    @classmethod
    def of(cls, found: HostBranch) -> Self:
        return cls(
            name=found.name,
            commit_sha=found.commit,
            protected=found.is_protected,
            last_push_date=found.pushed_at,
        )


class SuggestedTaskInfo(BaseModel):
    """A suggested task for the user at a git host, such as a pull request with failing checks. `host`: the
    host's name, such as `github.com`.
    """

    git_provider: GitProvider
    host: str
    task_type: TaskKind
    repo: str
    issue_number: int
    title: str

    @classmethod
    def of(cls, task: HostTask, host: ConnectedHost) -> Self:
        return cls(
            git_provider=host.provider,
            host=host.origin.removeprefix("https://"),
            task_type=task.kind,
            repo=task.repository,
            issue_number=task.number,
            title=task.title,
        )


class FailedHost(BaseModel):
    """A git host that could not be searched, with the reason."""

    host: str
    detail: str


class SuggestedTaskPage(Page[SuggestedTaskInfo]):
    failed_hosts: list[FailedHost] = []
