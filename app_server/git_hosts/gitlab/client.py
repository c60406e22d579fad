"""The client of GitLab, REST API version 4. Source: https://docs.gitlab.com/api/rest/."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from app_server.core.errors import AppError, BadRequest, Conflict
from app_server.git.providers import GitProvider
from app_server.git_hosts.connection import (
    FormFile,
    HostAccess,
    HostConnection,
    HostReply,
    Query,
    all_at_once,
)
from app_server.git_hosts.gitlab import parsing
from app_server.git_hosts.paths_and_bodies import cut_to, part
from app_server.git_hosts.plain_text import end_of_log
from app_server.git_hosts.schemas import (
    Check,
    Comment,
    HostBranch,
    HostImage,
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

MAX_FILE_BYTES = 1024 * 1024
_MAX_LOG_BYTES = 32 * 1024 * 1024
_MAX_ITEMS = 200
_MAX_LOOKED_AT = 10
_STATES = {
    PullRequestState.OPEN: "opened",
    PullRequestState.MERGED: "merged",
    PullRequestState.CLOSED: "closed",
}
_EVENTS = {PullRequestState.OPEN: "reopen", PullRequestState.CLOSED: "close"}
_PERSONAL_TOKEN = ("glpat-", "gldt-")


def gitlab(access: HostAccess) -> "GitLab":
    """Returns a client of GitLab. If `access.api_url` is None, the API is at `/api/v4` of `access.origin`."""
    is_personal = access.token.startswith(_PERSONAL_TOKEN)
    headers = {"PRIVATE-TOKEN": access.token} if is_personal else {"Authorization": f"Bearer {access.token}"}
    base = access.api_url or f"{access.origin}/api/v4"
    return GitLab(access.connection(base, headers, parsing.reason_of, parsing.missing_scope))


class GitLab:
    provider = GitProvider.GITLAB
    max_body_characters = 1_000_000

    def __init__(self, connection: HostConnection) -> None:
        self._api = connection

    async def me(self) -> HostUser:
        found = (await self._api.get("/user")).json()
        try:
            token = (await self._api.get("/personal_access_tokens/self")).json()
        except AppError:
            token = None  # OAuth tokens may not ask, and old servers do not answer.
        return self._api.with_rate_limit(parsing.user(found, token))

    async def add_signing_key(self, title: str, public_key: str) -> bool:
        new = {"title": title, "key": public_key, "usage_type": "signing"}
        try:
            await self._api.send("POST", "/user/keys", new)
        except BadRequest as error:
            if "already been taken" not in error.detail:
                raise
            return False
        return True

    async def addresses(self) -> frozenset[str]:
        user = (await self._api.get("/user")).json()
        return parsing.addresses(user, (await self._api.get("/user/emails")).json())

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        query: Query = {"min_access_level": parsing.DEVELOPER, "per_page": limit}
        reply = await self._page("/groups", query, page)
        found = tuple(Organization(id=one["full_path"], name=one["full_path"]) for one in reply.json())
        return Slice(items=found, next_page=reply.next_link)

    async def repositories(
        self,
        query: str = "",
        *,
        organization: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[HostRepository]:
        words: Query = {"search": query or None, "order_by": "last_activity_at", "per_page": limit}
        if organization:
            path = f"/groups/{part(organization)}/projects"
            reply = await self._page(path, {**words, "include_subgroups": True}, page)
        else:
            wanted = {**words, "membership": True, "search_namespaces": True if query else None}
            reply = await self._page("/projects", wanted, page)
        return Slice(items=tuple(map(parsing.repository, reply.json())), next_page=reply.next_link)

    async def repository(self, repository: str) -> HostRepository:
        return parsing.repository((await self._api.get(_of(repository))).json())

    async def branches(
        self, repository: str, query: str = "", *, page: str | None = None, limit: int = 30
    ) -> Slice[HostBranch]:
        words: Query = {"search": query or None, "per_page": limit}
        reply = await self._page(f"{_of(repository)}/repository/branches", words, page)
        return Slice(items=tuple(map(parsing.branch, reply.json())), next_page=reply.next_link)

    async def file(self, repository: str, path: str, ref: str | None = None) -> bytes | None:
        api_path = f"{_of(repository)}/repository/files/{part(path)}/raw"
        reply = await self._api.find(api_path, {"ref": ref or "HEAD"}, accept="*/*")
        return reply.content if reply and len(reply.content) <= MAX_FILE_BYTES else None

    async def may_push(self, repository: str, login: str) -> bool:
        if (user_id := await self._user_id(login)) is None:
            return False
        path = f"{_of(repository)}/members/all"
        members = (await self._api.get(path, {"user_ids[]": user_id})).json()
        return any(
            one["id"] == user_id and one.get("state") == "active" and one["access_level"] >= parsing.DEVELOPER
            for one in members
        )

    async def create_pull_request(self, repository: str, new: NewPullRequest) -> OpenedPullRequest:
        source = new.head_repository or repository
        target_id, source_id = await self._ids(repository, source)
        if known := await self._open_one(repository, new, source_id):
            return OpenedPullRequest(pull_request=known, is_new=False)
        reviewers = {login: await self._user_id(login) for login in dict.fromkeys(new.reviewers)}
        body = {
            "title": parsing.titled(new.title, is_draft=new.is_draft),
            "description": cut_to(new.body, self.max_body_characters),
            "source_branch": new.head,
            "target_branch": new.base,
        }
        if new.labels:
            body["labels"] = ",".join(new.labels)
        if ids := [user_id for user_id in reviewers.values() if user_id is not None]:
            body["reviewer_ids"] = ids  # type: ignore[assignment]
        if source_id != target_id:
            body["target_project_id"] = target_id  # type: ignore[assignment]
        try:
            reply = await self._api.send("POST", f"{_of(source)}/merge_requests", body)
        except Conflict:
            if known := await self._open_one(repository, new, source_id):
                return OpenedPullRequest(pull_request=known, is_new=False)
            raise
        opened = parsing.pull_request(reply.json(), source)
        taken = {login.casefold() for login in opened.reviewers}
        left_out = tuple(
            f"{self._api.host} has no user {login}, who was left out of the reviewers."
            if user_id is None
            else f"{self._api.host} did not take {login} as a reviewer."
            for login, user_id in reviewers.items()
            if login.casefold() not in taken
        )
        return OpenedPullRequest(pull_request=opened, is_new=True, left_out=left_out)

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        found = (await self._api.get(_item(repository, ItemKind.PULL_REQUEST, number))).json()
        return (await self._read(repository, [found]))[0]

    async def pull_requests(
        self,
        repository: str,
        *,
        state: PullRequestState = PullRequestState.OPEN,
        head: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[PullRequest]:
        query: Query = {"state": _STATES[state], "source_branch": head, "per_page": limit}
        reply = await self._page(f"{_of(repository)}/merge_requests", query, page)
        found = reply.json()
        if head is not None:
            found = [one for one in found if one.get("source_project_id") == one.get("target_project_id")]
        return Slice(items=tuple(await self._read(repository, found)), next_page=reply.next_link)

    async def update_pull_request(
        self, repository: str, number: int, changes: PullRequestChanges
    ) -> PullRequest:
        path = _item(repository, ItemKind.PULL_REQUEST, number)
        body: dict[str, Any] = {}
        if changes.title is not None or changes.is_draft is not None:
            # The title says whether it is a draft.
            known = await self.pull_request(repository, number)
            is_draft = known.is_draft if changes.is_draft is None else changes.is_draft
            body["title"] = parsing.titled(changes.title or known.title, is_draft=is_draft)
        if changes.body is not None:
            body["description"] = cut_to(changes.body, self.max_body_characters)
        if changes.base is not None:
            body["target_branch"] = changes.base
        if changes.state is not None:
            body["state_event"] = _EVENTS[changes.state]
        if not body:
            return await self.pull_request(repository, number)
        return (await self._read(repository, [(await self._api.send("PUT", path, body)).json()]))[0]

    async def attach_image(self, repository: str, number: int, image: HostImage) -> str:
        del number  # an upload belongs to the project
        file = FormFile("file", image.name, image.media_type, image.content)
        return str((await self._api.send("POST", f"{_of(repository)}/uploads", file)).json()["url"])

    async def comments(
        self, repository: str, kind: ItemKind, number: int, *, page: str | None = None
    ) -> Slice[Comment]:
        query: Query = {"sort": "asc", "order_by": "created_at", "per_page": 100}
        reply = await self._page(f"{_item(repository, kind, number)}/notes", query, page)
        url = self._url(repository, kind, number)
        # Notes on lines belong to the review threads.
        found = tuple(parsing.comment(one, url) for one in reply.json() if one.get("type") != "DiffNote")
        return Slice(items=found, next_page=reply.next_link)

    async def add_comment(self, repository: str, kind: ItemKind, number: int, body: str) -> Comment:
        path = f"{_item(repository, kind, number)}/notes"
        return await self._write("POST", path, body, self._url(repository, kind, number))

    async def edit_comment(
        self, repository: str, kind: ItemKind, number: int, comment_id: str, body: str
    ) -> Comment:
        path = f"{_item(repository, kind, number)}/notes/{part(comment_id)}"
        return await self._write("PUT", path, body, self._url(repository, kind, number))

    async def review_threads(self, repository: str, number: int) -> Sequence[ReviewThread]:
        path = f"{_item(repository, ItemKind.PULL_REQUEST, number)}/discussions"
        url = self._url(repository, ItemKind.PULL_REQUEST, number)
        threads = [parsing.thread(one, url) for one in await self._all(path)]
        return [thread for thread in threads if thread is not None]

    async def reviews(self, repository: str, number: int) -> Sequence[Review]:
        path = _item(repository, ItemKind.PULL_REQUEST, number)
        reviewers = await self._all(f"{path}/reviewers")
        approvals = await self._api.find(f"{path}/approvals")
        return parsing.reviews(reviewers, approvals.json() if approvals else {})

    async def reply_to_thread(self, repository: str, number: int, thread_id: str, body: str) -> Comment:
        path = f"{_item(repository, ItemKind.PULL_REQUEST, number)}/discussions/{part(thread_id)}/notes"
        return await self._write("POST", path, body, self._url(repository, ItemKind.PULL_REQUEST, number))

    async def resolve_thread(self, repository: str, number: int, thread_id: str) -> None:
        path = f"{_item(repository, ItemKind.PULL_REQUEST, number)}/discussions/{part(thread_id)}"
        await self._api.send("PUT", path, {"resolved": True})

    async def issue(self, repository: str, number: int) -> Issue:
        return parsing.issue((await self._api.get(_item(repository, ItemKind.ISSUE, number))).json())

    async def checks(self, repository: str, pull_request: PullRequest) -> Sequence[Check]:
        """Returns the newest pipeline's jobs, then the last commit's statuses whose names no job has."""
        path = _item(repository, ItemKind.PULL_REQUEST, pull_request.number)
        commit = pull_request.head_commit
        pipelines = (await self._api.get(f"{path}/pipelines")).json()
        newest = next((one for one in pipelines if commit in {None, one.get("sha")}), None)
        checks: list[Check] = []
        if newest is not None:
            project_id = newest.get("project_id") or (await self._ids(repository, repository))[0]
            jobs = await self._all(f"/projects/{project_id}/pipelines/{newest['id']}/jobs")
            checks = [parsing.job(one, project_id) for one in jobs]
        if commit is not None:
            known = {check.name for check in checks}
            statuses = f"{_of(repository)}/repository/commits/{part(commit)}/statuses"
            reply = await self._api.find(statuses, {"per_page": 100})
            found = map(parsing.status, reply.json() if reply else ())
            checks += [check for check in found if check.name not in known]
        return checks[:_MAX_ITEMS]

    async def check_log(self, repository: str, check_id: str) -> str:
        project_id, _, job_id = check_id.partition(":")
        path = f"/projects/{part(project_id)}/jobs/{part(job_id)}/trace"
        reply = await self._api.get(path, accept="*/*", max_bytes=_MAX_LOG_BYTES)
        return end_of_log(reply.content)

    async def suggested_tasks(self) -> Sequence[HostTask]:
        mine: Query = {
            "scope": "created_by_me",
            "state": "opened",
            "order_by": "updated_at",
            "per_page": _MAX_LOOKED_AT,
        }
        assigned: Query = {"scope": "assigned_to_me", "state": "opened", "per_page": 40}
        pulls, issues = await asyncio.gather(
            self._api.get("/merge_requests", mine), self._api.get("/issues", assigned)
        )
        tasks = await all_at_once(map(self._task, pulls.json()))
        return [task for task in tasks if task] + [
            _task(TaskKind.OPEN_ISSUE, one) for one in issues.json() if parsing.repository_of(one)
        ]

    async def _task(self, row: dict[str, Any]) -> HostTask | None:
        path = f"/projects/{row['project_id']}/merge_requests/{row['iid']}"
        if (reply := await self._api.find(path)) is None:
            return None
        found = reply.json()
        if parsing.mergeability(found) is Mergeability.CONFLICTS:
            return _task(TaskKind.MERGE_CONFLICTS, found)
        if ((found.get("head_pipeline") or found.get("pipeline")) or {}).get("status") == "failed":
            return _task(TaskKind.FAILING_CHECKS, found)
        if found.get("blocking_discussions_resolved") is False:
            return _task(TaskKind.UNRESOLVED_COMMENTS, found)
        return None

    async def _open_one(self, repository: str, new: NewPullRequest, source_id: int) -> PullRequest | None:
        query: Query = {
            "source_branch": new.head,
            "target_branch": new.base,
            "state": "opened",
            "per_page": 100,
        }
        found = (await self._api.get(f"{_of(repository)}/merge_requests", query)).json()
        for one in found:
            if one.get("source_project_id") == source_id:
                return parsing.pull_request(one, new.head_repository or repository)
        return None

    async def _read(self, repository: str, found: Iterable[dict[str, Any]]) -> list[PullRequest]:
        """Converts merge requests from GitLab's JSON. Requests forks' names: the JSON has only their ids."""
        rows = list(found)
        forks = {
            one["source_project_id"]
            for one in rows
            if one.get("source_project_id") not in {None, one.get("target_project_id")}
        }
        replies = await all_at_once(self._api.find(f"/projects/{fork}") for fork in sorted(forks))
        names = {
            fork: reply.json()["path_with_namespace"]
            for fork, reply in zip(sorted(forks), replies, strict=True)
            if reply
        }
        return [
            parsing.pull_request(
                one,
                repository
                if one.get("source_project_id") == one.get("target_project_id")
                else names.get(one.get("source_project_id")),
            )
            for one in rows
        ]

    async def _ids(self, target: str, source: str) -> tuple[int, int]:
        target_id: int = (await self._api.get(_of(target))).json()["id"]
        if source == target:
            return target_id, target_id
        return target_id, (await self._api.get(_of(source))).json()["id"]

    async def _user_id(self, login: str) -> int | None:
        found = (await self._api.get("/users", {"username": login})).json()
        return next((one["id"] for one in found if one["username"].casefold() == login.casefold()), None)

    async def _write(self, method: str, path: str, body: str, url: str) -> Comment:
        reply = await self._api.send(method, path, {"body": cut_to(body, self.max_body_characters)})
        return parsing.comment(reply.json(), url)

    async def _page(self, path: str, query: Query, page: str | None) -> HostReply:
        return await self._api.get(page) if page else await self._api.get(path, query)

    async def _all(self, path: str) -> list[dict[str, Any]]:
        reply = await self._api.get(path, {"per_page": 100})
        found: list[dict[str, Any]] = reply.json()
        while reply.next_link and len(found) < _MAX_ITEMS:
            reply = await self._api.get(reply.next_link)
            found += reply.json()
        return found[:_MAX_ITEMS]

    def _url(self, repository: str, kind: ItemKind, number: int) -> str:
        web = self._api.api_url.removesuffix("/api/v4")
        return f"{web}/{repository}/-/{_ITEM_PATHS[kind]}/{number}"


_ITEM_PATHS = {ItemKind.ISSUE: "issues", ItemKind.PULL_REQUEST: "merge_requests"}


def _of(repository: str) -> str:
    return f"/projects/{part(repository)}"


def _item(repository: str, kind: ItemKind, number: int) -> str:
    return f"{_of(repository)}/{_ITEM_PATHS[kind]}/{number}"


def _task(kind: TaskKind, found: dict[str, Any]) -> HostTask:
    return HostTask(
        kind=kind, repository=parsing.repository_of(found), number=found["iid"], title=found["title"]
    )
