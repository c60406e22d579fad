"""The client of Azure DevOps Services and Azure DevOps Server, REST API version 7.1.

Source: https://learn.microsoft.com/rest/api/azure/devops/. The methods for issues read and write work items
of Azure DevOps. A work item belongs to a project, not to a repository.
"""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from app_server.core.errors import BadRequest, Conflict
from app_server.git.providers import GitProvider
from app_server.git_hosts import errors
from app_server.git_hosts.azure_devops import checks, parsing, work_items
from app_server.git_hosts.azure_devops.api import AzureApi, AzureRepository, azure_api
from app_server.git_hosts.connection import HostAccess, Query, all_at_once
from app_server.git_hosts.paths_and_bodies import cut_to, part
from app_server.git_hosts.schemas import (
    Check,
    CheckState,
    Comment,
    HostBranch,
    HostRepository,
    HostTask,
    HostUser,
    Issue,
    ItemKind,
    Mergeability,
    NewPullRequest,
    OpenedPullRequest,
    Organization,
    PullRequest,
    PullRequestChanges,
    PullRequestState,
    Review,
    ReviewThread,
    Slice,
    TaskKind,
)

Item = TypeVar("Item")

MAX_FILE_BYTES = 1024 * 1024
MAX_COMMENT_CHARACTERS = 100_000
_MAX_ITEMS = 200
_MAX_LOOKED_AT = 10
_MAX_ORGANIZATIONS_LOOKED_AT = 5
_COMMIT = re.compile(r"[0-9a-f]{40}")
_GIT = "2e9eb7ed-3c0a-47d4-87c1-0ffdd275fd87"
"""The id of the security namespace of git repositories at Azure DevOps. The bit 4 (GenericContribute) of a
permission in this namespace means the permission to push.
"""
_PUSH = 4
_STATES = {
    PullRequestState.OPEN: "active",
    PullRequestState.MERGED: "completed",
    PullRequestState.CLOSED: "abandoned",
}


def azure_devops(access: HostAccess) -> "AzureDevOps":
    """Returns a client of Azure DevOps. `access`: the user's token, and the address of the API."""
    return AzureDevOps(azure_api(access))


class AzureDevOps:
    provider = GitProvider.AZURE_DEVOPS
    max_body_characters = 4_000

    def __init__(self, api: AzureApi) -> None:
        self._api = api

    async def me(self) -> HostUser:
        if found := await self._api.me():
            return parsing.user_of_connection(found)
        return parsing.user_of_profile(await self._api.profile())

    async def add_signing_key(self, title: str, public_key: str) -> bool:
        del title, public_key
        raise errors.cannot(self._api.host, "take a signing key by its API")

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        names = await self._api.organizations()
        return _cut([Organization(id=name, name=name) for name in names], page, limit)

    async def repositories(
        self,
        query: str = "",
        *,
        organization: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[HostRepository]:
        """Returns one page of the repositories of the token's user, sorted by name. Azure DevOps does not
        tell when a repository changed, so the repositories cannot be sorted by time.

        `query`: a part of the name; an empty text means all repositories. `organization`: the organisation
        whose repositories are wanted; None means all organisations. `page`: the `next_page` of the previous
        reply; None means the first page. `limit`: the largest number of repositories.
        """
        names = [organization] if organization else await self._api.organizations()
        found = [one for rows in await all_at_once(map(self._repositories, names)) for one in rows]
        found = [one for one in found if query.casefold() in one.full_name.partition("/")[2].casefold()]
        return _cut(sorted(found, key=lambda one: one.full_name.casefold()), page, limit)

    async def repository(self, repository: str) -> HostRepository:
        azure_repository = self._api.parse_name(repository)
        return parsing.repository(
            (await self._api.get(azure_repository.path)).json(), azure_repository.organization
        )

    async def branches(
        self, repository: str, query: str = "", *, page: str | None = None, limit: int = 30
    ) -> Slice[HostBranch]:
        words: Query = {
            "filter": "heads/",
            "filterContains": query or None,
            "$top": limit,
            "continuationToken": page,
        }
        reply = await self._api.get(f"{self._api.parse_name(repository).path}/refs", words)
        return Slice(
            items=tuple(map(parsing.branch, parsing.items(reply.json()))),
            next_page=reply.headers.get("x-ms-continuationtoken"),
        )

    async def file(self, repository: str, path: str, ref: str | None = None) -> bytes | None:
        items_path = f"{self._api.parse_name(repository).path}/items"
        kinds = ("",) if ref is None else ("commit",) if _COMMIT.fullmatch(ref) else ("branch", "tag")
        for kind in kinds:
            words: Query = {
                "path": f"/{path.lstrip('/')}",
                "$format": "octetStream",
                "versionDescriptor.version": ref,
                "versionDescriptor.versionType": kind or None,
            }
            try:
                content = await self._api.raw(items_path, words, "application/octet-stream")
            except BadRequest:
                continue  # a directory
            if content is not None:
                return content if len(content) <= MAX_FILE_BYTES else None
        return None

    async def may_push(self, repository: str, login: str) -> bool:
        azure_repository = self._api.parse_name(repository)
        if (person := await self._api.person(azure_repository.organization, login)) is None:
            return False
        found = (await self._api.get(azure_repository.path)).json()
        token = f"repoV2/{found['project']['id']}/{found['id']}"
        organization = part(azure_repository.organization)
        me = await self._api.me(azure_repository.organization)
        if me and me["id"] == person["id"]:
            path = f"/{organization}/_apis/permissions/{_GIT}/{_PUSH}"
            return parsing.items((await self._api.get(path, {"tokens": token})).json()) == [True]
        words = {"token": token, "descriptors": person["descriptor"], "includeExtendedInfo": True}
        lists = await self._api.all(f"/{organization}/_apis/accesscontrollists/{_GIT}", words)
        return any(
            one["extendedInfo"].get("effectiveAllow", 0)
            & ~one["extendedInfo"].get("effectiveDeny", 0)
            & _PUSH
            for row in lists
            for descriptor, one in (row.get("acesDictionary") or {}).items()
            if descriptor == person["descriptor"] and one.get("extendedInfo")
        )

    async def create_pull_request(self, repository: str, new: NewPullRequest) -> OpenedPullRequest:
        azure_repository = self._api.parse_name(repository)
        fork = None
        if new.head_repository not in {None, repository}:
            fork = (await self._api.get(self._api.parse_name(str(new.head_repository)).path)).json()["id"]
        if known := await self._open_one(azure_repository, new, fork):
            return OpenedPullRequest(pull_request=known, is_new=False)
        reviewers: list[dict[str, str]] = []
        left_out: list[str] = []
        for login in dict.fromkeys(new.reviewers):
            if found := await self._api.person(azure_repository.organization, login):
                reviewers.append({"id": found["id"]})
            else:
                left_out.append(
                    f"{self._api.host} has no user or more than one called {login}, who was left out of the "
                    "reviewers."
                )
        body: dict[str, Any] = {
            "title": new.title,
            "description": cut_to(new.body, self.max_body_characters),
            "sourceRefName": parsing.HEADS + new.head,
            "targetRefName": parsing.HEADS + new.base,
            "isDraft": new.is_draft,
            "labels": [{"name": label} for label in new.labels],
            "reviewers": reviewers,
        }
        if fork:
            body["forkSource"] = {"repository": {"id": fork}}
        try:
            opened = await self._api.send("POST", f"{azure_repository.path}/pullrequests", body)
        except Conflict:
            if known := await self._open_one(azure_repository, new, fork):
                return OpenedPullRequest(pull_request=known, is_new=False)
            raise
        return OpenedPullRequest(
            pull_request=self._read(azure_repository, opened), is_new=True, left_out=tuple(left_out)
        )

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        azure_repository = self._api.parse_name(repository)
        found = (await self._api.get(f"{azure_repository.path}/pullrequests/{number}")).json()
        pull = self._read(azure_repository, found)
        if pull.mergeability is Mergeability.CLEAN:
            said = await checks.evaluations(
                self._api, azure_repository, found["repository"]["project"]["id"], number
            )
            if any(map(checks.is_blocking, said)):
                return pull.model_copy(update={"mergeability": Mergeability.BLOCKED})
        return pull

    async def pull_requests(
        self,
        repository: str,
        *,
        state: PullRequestState = PullRequestState.OPEN,
        head: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[PullRequest]:
        """Returns one page of the repository's pull requests, the newest first. In this list, Azure DevOps
        cuts the descriptions to 400 characters. `head`: the name of a branch; only pull requests from this
        branch, not from forks, are returned. None means all branches.
        """
        azure_repository, start = self._api.parse_name(repository), _start(page)
        words: Query = {
            "searchCriteria.status": _STATES[state],
            "searchCriteria.sourceRefName": None if head is None else parsing.HEADS + head,
            "$top": limit,
            "$skip": start,
        }
        found = await self._api.all(f"{azure_repository.path}/pullrequests", words)
        next_page = str(start + limit) if len(found) == limit else None
        own = found if head is None else [one for one in found if not one.get("forkSource")]
        return Slice(items=tuple(self._read(azure_repository, one) for one in own), next_page=next_page)

    async def update_pull_request(
        self, repository: str, number: int, changes: PullRequestChanges
    ) -> PullRequest:
        fields = {
            "title": changes.title,
            "description": None if changes.body is None else cut_to(changes.body, self.max_body_characters),
            "targetRefName": None if changes.base is None else parsing.HEADS + changes.base,
            "isDraft": changes.is_draft,
        }
        path = f"{self._api.parse_name(repository).path}/pullrequests/{number}"
        if body := {name: value for name, value in fields.items() if value is not None}:
            await self._api.send("PATCH", path, body)
        if changes.state is not None:  # takes no other changes beside it
            await self._api.send("PATCH", path, {"status": _STATES[changes.state]})
        return await self.pull_request(repository, number)

    async def comments(
        self, repository: str, kind: ItemKind, number: int, *, page: str | None = None
    ) -> Slice[Comment]:
        azure_repository = self._api.parse_name(repository)
        if kind is ItemKind.ISSUE:
            rows, next_page = await work_items.comments(self._api, azure_repository, number, page)
            return Slice(items=tuple(rows), next_page=next_page)
        return Slice(
            items=tuple(
                parsing.comments(
                    await self._threads(azure_repository, number), self._url(azure_repository, number)
                )
            )
        )

    async def add_comment(self, repository: str, kind: ItemKind, number: int, body: str) -> Comment:
        azure_repository, text = self._api.parse_name(repository), cut_to(body, MAX_COMMENT_CHARACTERS)
        if kind is ItemKind.ISSUE:
            return await work_items.write_comment(self._api, azure_repository, number, text)
        # Without a status the comment does not have to be resolved before the pull request can be merged.
        first = {"parentCommentId": 0, "content": text, "commentType": "text"}
        thread = await self._api.send("POST", _threads(azure_repository, number), {"comments": [first]})
        return parsing.comment(thread["comments"][0], thread["id"], self._url(azure_repository, number))

    async def edit_comment(
        self, repository: str, kind: ItemKind, number: int, comment_id: str, body: str
    ) -> Comment:
        azure_repository, text = self._api.parse_name(repository), cut_to(body, MAX_COMMENT_CHARACTERS)
        if kind is ItemKind.ISSUE:
            return await work_items.write_comment(self._api, azure_repository, number, text, comment_id)
        thread, _, comment = comment_id.partition("/")
        path = f"{_threads(azure_repository, number)}/{part(thread)}/comments/{part(comment)}"
        found = await self._api.send("PATCH", path, {"content": text})
        return parsing.comment(found, int(thread), self._url(azure_repository, number))

    async def review_threads(self, repository: str, number: int) -> Sequence[ReviewThread]:
        azure_repository = self._api.parse_name(repository)
        threads = await self._threads(azure_repository, number)
        return parsing.review_threads(threads, self._url(azure_repository, number))[:_MAX_ITEMS]

    async def reviews(self, repository: str, number: int) -> Sequence[Review]:
        path = f"{self._api.parse_name(repository).path}/pullrequests/{number}"
        return parsing.reviews((await self._api.get(path)).json())

    async def reply_to_thread(self, repository: str, number: int, thread_id: str, body: str) -> Comment:
        azure_repository, text = self._api.parse_name(repository), cut_to(body, MAX_COMMENT_CHARACTERS)
        path = f"{_threads(azure_repository, number)}/{part(thread_id)}/comments"
        words = {"parentCommentId": 1, "content": text, "commentType": "text"}
        found = await self._api.send("POST", path, words)
        return parsing.comment(found, int(thread_id), self._url(azure_repository, number))

    async def resolve_thread(self, repository: str, number: int, thread_id: str) -> None:
        path = f"{_threads(self._api.parse_name(repository), number)}/{part(thread_id)}"
        await self._api.send("PATCH", path, {"status": "fixed"})

    async def issue(self, repository: str, number: int) -> Issue:
        return await work_items.issue(self._api, self._api.parse_name(repository), number)

    async def checks(self, repository: str, pull_request: PullRequest) -> Sequence[Check]:
        return (await checks.checks(self._api, self._api.parse_name(repository), pull_request))[:_MAX_ITEMS]

    async def check_log(self, repository: str, check_id: str) -> str:
        return await checks.log(self._api, self._api.parse_name(repository), check_id)

    async def suggested_tasks(self) -> Sequence[HostTask]:
        names = (await self._api.organizations())[:_MAX_ORGANIZATIONS_LOOKED_AT]
        found = await all_at_once(map(self._tasks, names))
        return [task for tasks in found for task in tasks][:50]

    async def _tasks(self, organization: str) -> list[HostTask]:
        me = await self._api.me(organization)
        words: Query = {
            "searchCriteria.creatorId": me["id"] if me else None,
            "searchCriteria.status": "active",
            "$top": _MAX_LOOKED_AT,
        }
        rows = await self._api.all(f"/{part(organization)}/_apis/git/pullrequests", words)
        pulls = await all_at_once(self._task(organization, row) for row in rows)
        # A work item belongs to a project, whose usual repository has the same name.
        of_project: dict[str, str] = {}
        for one in await self._repositories(organization):
            _, project, name = one.full_name.split("/")
            if name == project or project not in of_project:
                of_project[project] = one.full_name
        items = await work_items.assigned(self._api, part(organization), of_project)
        return [task for task in pulls if task] + items

    async def _task(self, organization: str, row: dict[str, Any]) -> HostTask | None:
        repository = AzureRepository(
            organization, row["repository"]["project"]["name"], row["repository"]["name"]
        )
        pull = self._read(repository, row)
        if pull.mergeability is Mergeability.CONFLICTS:
            kind = TaskKind.MERGE_CONFLICTS
        elif any(one.state is CheckState.FAILED for one in await checks.checks(self._api, repository, pull)):
            kind = TaskKind.FAILING_CHECKS
        elif any(not one.is_resolved for one in await self.review_threads(repository.full_name, pull.number)):
            kind = TaskKind.UNRESOLVED_COMMENTS
        else:
            return None
        return HostTask(kind=kind, repository=repository.full_name, number=pull.number, title=pull.title)

    async def _repositories(self, organization: str) -> list[HostRepository]:
        found = await self._api.all(f"/{part(organization)}/_apis/git/repositories")
        return [parsing.repository(one, organization) for one in found if not one.get("isDisabled")]

    async def _open_one(
        self, azure_repository: AzureRepository, new: NewPullRequest, fork: str | None
    ) -> PullRequest | None:
        words: Query = {
            "searchCriteria.status": "active",
            "searchCriteria.sourceRefName": parsing.HEADS + new.head,
            "searchCriteria.targetRefName": parsing.HEADS + new.base,
            "searchCriteria.sourceRepositoryId": fork,
        }
        found = await self._api.all(f"{azure_repository.path}/pullrequests", words)
        return next(
            (self._read(azure_repository, one) for one in found if bool(one.get("forkSource")) == bool(fork)),
            None,
        )

    async def _threads(self, azure_repository: AzureRepository, number: int) -> list[dict[str, Any]]:
        return await self._api.all(_threads(azure_repository, number))

    def _read(self, azure_repository: AzureRepository, found: dict[str, Any]) -> PullRequest:
        return parsing.pull_request(found, azure_repository.organization, self._api.web(azure_repository))

    def _url(self, azure_repository: AzureRepository, number: int) -> str:
        return f"{self._api.web(azure_repository)}/pullrequest/{number}"


def _threads(azure_repository: AzureRepository, number: int) -> str:
    return f"{azure_repository.path}/pullRequests/{number}/threads"


def _start(page: str | None) -> int:
    return int(page) if page and page.isdecimal() else 0


def _cut(found: list[Item], page: str | None, limit: int) -> Slice[Item]:
    start = _start(page)
    next_page = str(start + limit) if start + limit < len(found) else None
    return Slice(items=tuple(found[start : start + limit]), next_page=next_page)
