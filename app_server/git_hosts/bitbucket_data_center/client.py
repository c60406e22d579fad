"""The client of Bitbucket Data Center, for version 8 and later. It uses the REST API named `latest`.

Source: https://developer.atlassian.com/server/bitbucket/rest/. Bitbucket Data Center has no labels, no issues
and no logs.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote

from app_server.core.errors import AppError, BadRequest, Conflict
from app_server.git.providers import GitProvider
from app_server.git_hosts import errors
from app_server.git_hosts.bitbucket_data_center import parsing
from app_server.git_hosts.connection import HostAccess, HostConnection, HostReply, Query, all_at_once
from app_server.git_hosts.paths_and_bodies import cut_to, part, parts
from app_server.git_hosts.schemas import (
    Check,
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

Result = TypeVar("Result")

API = "/api/latest"
MAX_FILE_BYTES = 1024 * 1024
_MAX_ITEMS = 200
_MAX_ACTIVITIES = 1000
_MAX_LOOKED_AT = 10
_COMMIT = re.compile(r"[0-9a-f]{40}")
_VERSION_IN_PATH = re.compile(r"/api/(?:latest|1\.0)/?\Z")
_STATES = {
    PullRequestState.OPEN: "OPEN",
    PullRequestState.MERGED: "MERGED",
    PullRequestState.CLOSED: "DECLINED",
}


def bitbucket_data_center(access: HostAccess) -> "BitbucketDataCenter":
    """Returns a client of Bitbucket Data Center. `access`: the user's HTTP access token and the address of
    the server. Without `access.api_url`, the client uses the API below `ORIGIN/rest`.
    """
    base = _VERSION_IN_PATH.sub("", access.api_url or f"{access.origin}/rest")
    headers = {"Authorization": f"Bearer {access.token}"}
    return BitbucketDataCenter(access.connection(base, headers, parsing.reason_of))


class BitbucketDataCenter:
    provider = GitProvider.BITBUCKET_DATA_CENTER
    max_body_characters = 32_768

    def __init__(self, connection: HostConnection) -> None:
        self._api = connection

    async def me(self) -> HostUser:
        # Bitbucket answers a request with a bad token like one without a token. Only this header names the
        # user.
        reply = await self._api.get(f"{API}/application-properties")
        name = unquote(reply.headers.get("x-ausername", ""))
        if not name:
            raise errors.token_refused(self._api.host)
        if found := await self._api.find(f"{API}/users/{part(name)}"):
            return self._api.with_rate_limit(parsing.user(found.json()))
        return self._api.with_rate_limit(parsing.user(await self._user(name) or {"name": name}))

    async def add_signing_key(self, title: str, public_key: str) -> bool:
        del title, public_key
        raise errors.cannot(self._api.host, "take a signing key by its API")

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        found, next_page = await self._page(f"{API}/projects", {}, page, limit)
        items = tuple(Organization(id=one["key"], name=one["name"]) for one in found)
        return Slice(items=items, next_page=next_page)

    async def repositories(
        self,
        query: str = "",
        *,
        organization: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[HostRepository]:
        """Returns one page of the repositories that the user may push to, sorted by name. Bitbucket Data
        Center offers no other order.

        `query`: a part of the name; an empty text means all repositories. `organization`: the key of the
        project whose repositories are wanted; None means all projects. `page`: the `next_page` of the
        previous reply; None means the first page. `limit`: the largest number of repositories.
        """
        words: Query = {"name": query or None, "projectkey": organization, "permission": "REPO_WRITE"}
        found, next_page = await self._page(f"{API}/repos", words, page, limit)
        items = tuple(parsing.repository(one, can_push=True) for one in found)
        return Slice(items=items, next_page=next_page)

    async def repository(self, repository: str) -> HostRepository:
        found = (await self._api.get(_of(repository))).json()
        default = await self._api.find(f"{_of(repository)}/branches/default")
        # An empty repository has none: no content.
        name = default.json()["displayId"] if default and default.content else None
        return parsing.repository(found, name)

    async def branches(
        self, repository: str, query: str = "", *, page: str | None = None, limit: int = 30
    ) -> Slice[HostBranch]:
        words: Query = {"filterText": query or None, "orderBy": "MODIFICATION", "details": False}
        found, next_page = await self._page(f"{_of(repository)}/branches", words, page, limit)
        return Slice(items=tuple(map(parsing.branch, found)), next_page=next_page)

    async def file(self, repository: str, path: str, ref: str | None = None) -> bytes | None:
        api_path = f"{_of(repository)}/raw/{parts(path)}"
        is_full_ref = ref is None or _COMMIT.fullmatch(ref) or ref.startswith("refs/")
        for at in (ref,) if is_full_ref else (f"refs/heads/{ref}", f"refs/tags/{ref}"):
            if reply := await self._api.find(api_path, {"at": at}, accept="*/*"):
                return reply.content if len(reply.content) <= MAX_FILE_BYTES else None
        return None

    async def may_push(self, repository: str, login: str) -> bool:
        key, _, slug = repository.partition("/")
        words: Query = {
            "filter": login,
            "permission.1": "REPO_WRITE",
            "permission.1.projectKey": key,
            "permission.1.repositorySlug": slug,
        }
        return await self._user(login, words) is not None

    async def create_pull_request(self, repository: str, new: NewPullRequest) -> OpenedPullRequest:
        if known := await self._open_one(repository, new):
            return OpenedPullRequest(pull_request=known, is_new=False)
        reviewers: list[dict[str, Any]] = []
        left_out: list[str] = []
        for login in dict.fromkeys(new.reviewers):
            if found := await self._user(login):
                reviewers.append({"user": {"name": found["name"]}})
            else:
                left_out.append(f"{self._api.host} has no user {login}, who was left out of the reviewers.")
        if new.labels:
            left_out.append(f"Bitbucket has no labels: {', '.join(new.labels)} were left out.")
        body = {
            "title": parsing.title(new.title),
            "description": cut_to(new.body, self.max_body_characters),
            "draft": new.is_draft,
            "fromRef": parsing.ref(new.head_repository or repository, new.head),
            "toRef": parsing.ref(repository, new.base),
            "reviewers": reviewers,
        }
        path = f"{_of(repository)}/pull-requests"
        try:
            reply = await self._api.send("POST", path, body)
        except (BadRequest, Conflict) as error:
            if known := await self._open_one(repository, new):
                return OpenedPullRequest(pull_request=known, is_new=False)
            if not reviewers or "review" not in error.detail.casefold():
                raise
            left_out.append(f"Bitbucket did not take the reviewers. {error.detail}")
            reply = await self._api.send("POST", path, {**body, "reviewers": []})
        opened = parsing.pull_request(reply.json())
        if new.is_draft and not opened.is_draft:
            left_out.append("This Bitbucket has no drafts: the pull request is ready for review.")
        return OpenedPullRequest(pull_request=opened, is_new=True, left_out=tuple(left_out))

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        path = _pull(repository, number)
        found = (await self._api.get(path)).json()
        if found["state"] != "OPEN":
            return parsing.pull_request(found)
        try:
            merge = (await self._api.get(f"{path}/merge")).json()
        except Conflict:
            merge = {}  # It was closed in between.
        return parsing.pull_request(found, parsing.mergeability(merge))

    async def pull_requests(
        self,
        repository: str,
        *,
        state: PullRequestState = PullRequestState.OPEN,
        head: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[PullRequest]:
        words: dict[str, Any] = {"state": _STATES[state], "order": "NEWEST"}
        if head is not None:
            words |= {"at": parsing.HEADS + head, "direction": "OUTGOING"}
        found, next_page = await self._page(f"{_of(repository)}/pull-requests", words, page, limit)
        return Slice(items=tuple(map(parsing.pull_request, found)), next_page=next_page)

    async def update_pull_request(
        self, repository: str, number: int, changes: PullRequestChanges
    ) -> PullRequest:
        path = _pull(repository, number)
        if changes.model_copy(update={"state": None}) != PullRequestChanges():

            async def write() -> HostReply:
                known = (await self._api.get(path)).json()
                body = parsing.changed(known, changes, self.max_body_characters)
                return await self._api.send("PUT", path, body)

            await _twice(write)
        if changes.state is not None:
            wanted = "decline" if changes.state is PullRequestState.CLOSED else "reopen"

            async def turn() -> HostReply | None:
                known = (await self._api.get(path)).json()
                if known["state"] == _STATES[changes.state or PullRequestState.OPEN]:
                    return None
                return await self._api.send("POST", f"{path}/{wanted}", query={"version": known["version"]})

            await _twice(turn)
        return await self.pull_request(repository, number)

    async def comments(
        self, repository: str, kind: ItemKind, number: int, *, page: str | None = None
    ) -> Slice[Comment]:
        """Returns all comments as a single page, oldest first. Bitbucket's API returns the newest comment
        first, so all its pages must be read. `page` has no effect.
        """
        activities = await self._activities(self._item(repository, kind, number))
        return Slice(items=tuple(parsing.comments(activities, self._url(repository, number))))

    async def add_comment(self, repository: str, kind: ItemKind, number: int, body: str) -> Comment:
        path = f"{self._item(repository, kind, number)}/comments"
        reply = await self._api.send("POST", path, {"text": cut_to(body, self.max_body_characters)})
        return parsing.comment(reply.json(), self._url(repository, number))

    async def edit_comment(
        self, repository: str, kind: ItemKind, number: int, comment_id: str, body: str
    ) -> Comment:
        path = f"{self._item(repository, kind, number)}/comments/{part(comment_id)}"
        changes = {"text": cut_to(body, self.max_body_characters)}
        return parsing.comment(await self._change_comment(path, changes), self._url(repository, number))

    async def review_threads(self, repository: str, number: int) -> Sequence[ReviewThread]:
        activities = await self._activities(_pull(repository, number))
        return parsing.threads(activities, self._url(repository, number))[:_MAX_ITEMS]

    async def reviews(self, repository: str, number: int) -> Sequence[Review]:
        return parsing.reviews((await self._api.get(_pull(repository, number))).json())

    async def reply_to_thread(self, repository: str, number: int, thread_id: str, body: str) -> Comment:
        path = f"{_pull(repository, number)}/comments"
        parent = int(thread_id) if thread_id.isdecimal() else thread_id
        words = {"text": cut_to(body, self.max_body_characters), "parent": {"id": parent}}
        reply = await self._api.send("POST", path, words)
        return parsing.comment(reply.json(), self._url(repository, number))

    async def resolve_thread(self, repository: str, number: int, thread_id: str) -> None:
        path = f"{_pull(repository, number)}/comments/{part(thread_id)}"
        await self._change_comment(path, {"threadResolved": True})

    async def issue(self, repository: str, number: int) -> Issue:
        raise _no_issues(self._api.host)

    async def checks(self, repository: str, pull_request: PullRequest) -> Sequence[Check]:
        if pull_request.head_commit is None:
            return []
        path = f"/build-status/latest/commits/{part(pull_request.head_commit)}"
        return [parsing.status(one) for one in await self._all(path, _MAX_ITEMS)]

    async def check_log(self, repository: str, check_id: str) -> str:
        raise errors.cannot(
            self._api.host, "show logs: Bitbucket keeps the results of builds, not their logs"
        )

    async def suggested_tasks(self) -> Sequence[HostTask]:
        words: Query = {"role": "AUTHOR", "state": "OPEN"}
        found, _ = await self._page(f"{API}/dashboard/pull-requests", words, None, _MAX_LOOKED_AT)
        tasks = await all_at_once(map(self._task, found))
        return [task for task in tasks if task]

    async def _task(self, row: dict[str, Any]) -> HostTask | None:
        name, pull = parsing.name_of(row["toRef"]["repository"]), parsing.pull_request(row)
        path = f"/build-status/latest/commits/stats/{part(pull.head_commit or '')}"
        if (await self.pull_request(name, pull.number)).mergeability is Mergeability.CONFLICTS:
            kind = TaskKind.MERGE_CONFLICTS
        elif (await self._api.get(path)).json().get("failed"):
            kind = TaskKind.FAILING_CHECKS
        elif any(not thread.is_resolved for thread in await self.review_threads(name, pull.number)):
            kind = TaskKind.UNRESOLVED_COMMENTS
        else:
            return None
        return HostTask(kind=kind, repository=name, number=pull.number, title=pull.title)

    async def _open_one(self, repository: str, new: NewPullRequest) -> PullRequest | None:
        words: Query = {"at": parsing.HEADS + new.head, "direction": "OUTGOING", "state": "OPEN"}
        source = new.head_repository or repository
        found, _ = await self._page(f"{_of(source)}/pull-requests", words, None, 100)
        for one in found:
            target = parsing.name_of(one["toRef"]["repository"]).casefold()
            pull = parsing.pull_request(one)
            if target == repository.casefold() and pull.base == new.base:
                return pull
        return None

    async def _user(self, name: str, query: Query | None = None) -> dict[str, Any] | None:
        found, _ = await self._page(f"{API}/users", query or {"filter": name}, None, 100)
        return next((one for one in found if one["name"].casefold() == name.casefold()), None)

    async def _change_comment(self, path: str, changes: dict[str, Any]) -> dict[str, Any]:
        async def write() -> HostReply:
            known = (await self._api.get(path)).json()
            body = {"text": known["text"], **changes, "version": known["version"]}
            return await self._api.send("PUT", path, body)

        changed: dict[str, Any] = (await _twice(write)).json()
        return changed

    async def _activities(self, path: str) -> list[dict[str, Any]]:
        return await self._all(f"{path}/activities", _MAX_ACTIVITIES)

    async def _page(
        self, path: str, query: Query, page: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], str | None]:
        reply = (await self._api.get(path, {**query, "start": page, "limit": limit})).json()
        next_page = None if reply.get("isLastPage", True) else str(reply["nextPageStart"])
        return reply["values"], next_page

    async def _all(self, path: str, limit: int) -> list[dict[str, Any]]:
        found, next_page = await self._page(path, {}, None, 100)
        while next_page and len(found) < limit:
            more, next_page = await self._page(path, {}, next_page, 100)
            found = found + more
        return found[:limit]

    def _url(self, repository: str, number: int) -> str:
        key, _, slug = repository.partition("/")
        return f"{self._api.api_url.removesuffix('/rest')}/projects/{key}/repos/{slug}/pull-requests/{number}"

    def _item(self, repository: str, kind: ItemKind, number: int) -> str:
        if kind is ItemKind.ISSUE:
            raise _no_issues(self._api.host)
        return _pull(repository, number)


async def _twice(change: Callable[[], Awaitable[Result]]) -> Result:
    """Calls `change` and returns the result. If the host reports that another client has changed the same
    object at the same time, calls `change` a second time. `change`: a function that reads an object of
    Bitbucket, such as a pull request, and then changes it.
    """
    try:
        return await change()
    except Conflict:
        return await change()


def _of(repository: str) -> str:
    key, _, slug = repository.partition("/")
    return f"{API}/projects/{part(key)}/repos/{part(slug)}"


def _pull(repository: str, number: int) -> str:
    return f"{_of(repository)}/pull-requests/{number}"


def _no_issues(host: str) -> AppError:
    return errors.cannot(host, "hold issues")
