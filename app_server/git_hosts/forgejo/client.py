"""The client of Forgejo and Gitea, API version 1. Source: the swagger documents of both programs."""

from collections.abc import Sequence
from typing import Any

from app_server.core.errors import AppError
from app_server.git.providers import GitProvider
from app_server.git_hosts import errors
from app_server.git_hosts.connection import FormFile, HostAccess, HostConnection, Query, all_at_once
from app_server.git_hosts.forgejo import parsing
from app_server.git_hosts.paths_and_bodies import cut_to, part, parts
from app_server.git_hosts.schemas import (
    Check,
    CheckState,
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
    by_name,
)

MAX_FILE_BYTES = 1024 * 1024
PAGE_ITEMS = 50
"""The largest number of items that Forgejo and Gitea return on a page with their default configuration. An
administrator of the git host can set a larger number.
"""
_MAX_ITEMS = 200
_MAX_BRANCHES = 300
_MAX_LOOKED_AT = 10
_MAY_PUSH = frozenset(("owner", "admin", "write"))
_ALREADY_THERE = "already exists"


def forgejo(access: HostAccess) -> "Forgejo":
    """Returns a client of Forgejo or Gitea. `access`: the user's token and the address of the server. Without
    `access.api_url`, the client uses the API at `ORIGIN/api/v1`.
    """
    headers = {"Authorization": f"token {access.token}", "Accept": "application/json"}
    base = access.api_url or f"{access.origin}/api/v1"
    return Forgejo(access.connection(base, headers, parsing.reason_of))


class Forgejo:
    provider = GitProvider.FORGEJO
    max_body_characters = 65_536

    def __init__(self, connection: HostConnection) -> None:
        self._api = connection

    async def me(self) -> HostUser:
        return self._api.with_rate_limit(parsing.user((await self._api.get("/user")).json()))

    async def add_signing_key(self, title: str, public_key: str) -> bool:
        del title, public_key
        raise errors.cannot(self._api.host, "take a signing key by its API")

    async def addresses(self) -> frozenset[str]:
        found = (await self._api.get("/user/emails")).json()
        return frozenset(one["email"].lower() for one in found if one["verified"])

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        reply = await self._api.get(page or "/user/orgs", None if page else _page_of(limit))
        return Slice(items=tuple(map(parsing.organization, reply.json())), next_page=reply.next_link)

    async def repositories(
        self,
        query: str = "",
        *,
        organization: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[HostRepository]:
        if page:
            reply = await self._api.get(page)
        elif organization:
            reply = await self._api.get(f"/orgs/{part(organization)}/repos", _page_of(limit))
        elif query:
            words: Query = {"q": query, "sort": "updated", "order": "desc", **_page_of(limit)}
            reply = await self._api.get("/repos/search", words)
        else:
            reply = await self._api.get("/user/repos", _page_of(limit))
        found = reply.json()
        items = map(parsing.repository, found["data"] if isinstance(found, dict) else found)
        wanted = [one for one in items if query.casefold() in one.full_name.casefold()]
        return Slice(items=tuple(wanted), next_page=reply.next_link)

    async def repository(self, repository: str) -> HostRepository:
        return parsing.repository((await self._api.get(_of(repository))).json())

    async def branches(
        self, repository: str, query: str = "", *, page: str | None = None, limit: int = 30
    ) -> Slice[HostBranch]:
        path = f"{_of(repository)}/branches"
        if query:  # the API cannot search
            found = [parsing.branch(one) for one in await self._all(path, _MAX_BRANCHES)]
            return Slice(items=by_name(found, query)[:limit])
        reply = await self._api.get(page or path, None if page else _page_of(limit))
        return Slice(items=tuple(map(parsing.branch, reply.json())), next_page=reply.next_link)

    async def file(self, repository: str, path: str, ref: str | None = None) -> bytes | None:
        api_path = f"{_of(repository)}/raw/{parts(path)}"
        reply = await self._api.find(api_path, {"ref": ref}, accept="*/*")
        return reply.content if reply and len(reply.content) <= MAX_FILE_BYTES else None

    async def may_push(self, repository: str, login: str) -> bool:
        path = f"{_of(repository)}/collaborators/{part(login)}/permission"
        reply = await self._api.find(path)
        return reply is not None and reply.json().get("permission") in _MAY_PUSH

    async def create_pull_request(self, repository: str, new: NewPullRequest) -> OpenedPullRequest:
        if known := await self._open_one(repository, new):
            return OpenedPullRequest(pull_request=known, is_new=False)
        labels, left_out = await self._label_ids(repository, new.labels)
        body = {
            "title": parsing.titled(new.title, is_draft=new.is_draft),
            "head": _head(repository, new),
            "base": new.base,
            "body": cut_to(new.body, self.max_body_characters),
            "labels": labels,
        }
        try:
            reply = await self._api.send("POST", f"{_of(repository)}/pulls", body)
        except AppError as error:
            is_known = error.code == "git_host_conflict" or _ALREADY_THERE in error.detail
            if is_known and (known := await self._open_one(repository, new)):
                return OpenedPullRequest(pull_request=known, is_new=False)
            raise
        opened = parsing.pull_request(reply.json())
        left_out += await self._ask_reviewers(repository, opened.number, new.reviewers)
        return OpenedPullRequest(pull_request=opened, is_new=True, left_out=tuple(left_out))

    async def _label_ids(self, repository: str, names: Sequence[str]) -> tuple[list[int], list[str]]:
        if not names:
            return [], []
        known = {one["name"]: one["id"] for one in await self._all(f"{_of(repository)}/labels", _MAX_ITEMS)}
        left_out = [f"There is no label {name} in this repository." for name in names if name not in known]
        return [known[name] for name in names if name in known], left_out

    async def _ask_reviewers(self, repository: str, number: int, logins: Sequence[str]) -> list[str]:
        if not logins:
            return []
        path = f"{_of(repository)}/pulls/{number}/requested_reviewers"
        try:
            await self._api.send("POST", path, {"reviewers": list(logins)})
        except AppError as error:
            return [f"The reviewers {', '.join(logins)} were not asked: {error.detail}"]
        return []

    async def _open_one(self, repository: str, new: NewPullRequest) -> PullRequest | None:
        wanted = (new.head, new.base, new.head_repository or repository)
        found = await self._all(f"{_of(repository)}/pulls", _MAX_ITEMS, {"state": "open"})
        for one in map(parsing.pull_request, found):
            if (one.head, one.base, one.head_repository) == wanted:
                return one
        return None

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        return parsing.pull_request((await self._api.get(f"{_of(repository)}/pulls/{number}")).json())

    async def pull_requests(
        self,
        repository: str,
        *,
        state: PullRequestState = PullRequestState.OPEN,
        head: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[PullRequest]:
        words = {"state": "open" if state is PullRequestState.OPEN else "closed", **_page_of(limit)}
        reply = await self._api.get(page or f"{_of(repository)}/pulls", None if page else words)
        found = [
            one
            for one in map(parsing.pull_request, reply.json())
            if one.state is state and head in {None, one.head}
        ]
        return Slice(items=tuple(found), next_page=reply.next_link)

    async def update_pull_request(
        self, repository: str, number: int, changes: PullRequestChanges
    ) -> PullRequest:
        title = changes.title
        if changes.is_draft is not None or title is not None:
            now = await self.pull_request(repository, number)
            is_draft = now.is_draft if changes.is_draft is None else changes.is_draft
            title = parsing.titled(title or now.title, is_draft=is_draft)
        body = {
            "title": title,
            "body": None if changes.body is None else cut_to(changes.body, self.max_body_characters),
            "base": changes.base,
            "state": changes.state,
        }
        given = {name: value for name, value in body.items() if value is not None}
        path = f"{_of(repository)}/pulls/{number}"
        return parsing.pull_request((await self._api.send("PATCH", path, given)).json())

    async def attach_image(self, repository: str, number: int, image: HostImage) -> str:
        file = FormFile("attachment", image.name, image.media_type, image.content)
        path = f"{_of(repository)}/issues/{number}/assets"
        return str((await self._api.send("POST", path, file)).json()["browser_download_url"])

    async def comments(
        self, repository: str, kind: ItemKind, number: int, *, page: str | None = None
    ) -> Slice[Comment]:
        # All of them come at once.
        reply = await self._api.get(f"{_of(repository)}/issues/{number}/comments")
        return Slice(items=tuple(map(parsing.comment, reply.json())))

    async def add_comment(self, repository: str, kind: ItemKind, number: int, body: str) -> Comment:
        path = f"{_of(repository)}/issues/{number}/comments"
        reply = await self._api.send("POST", path, {"body": cut_to(body, self.max_body_characters)})
        return parsing.comment(reply.json())

    async def edit_comment(
        self, repository: str, kind: ItemKind, number: int, comment_id: str, body: str
    ) -> Comment:
        path = f"{_of(repository)}/issues/comments/{part(comment_id)}"
        reply = await self._api.send("PATCH", path, {"body": cut_to(body, self.max_body_characters)})
        return parsing.comment(reply.json())

    async def review_threads(self, repository: str, number: int) -> Sequence[ReviewThread]:
        path = f"{_of(repository)}/pulls/{number}/reviews"
        reviews = await self._all(path, _MAX_ITEMS)
        pages = await all_at_once(
            self._api.get(f"{path}/{one['id']}/comments") for one in reviews if one.get("comments_count")
        )
        return parsing.threads(one for page in pages for one in page.json())[:_MAX_ITEMS]

    async def reviews(self, repository: str, number: int) -> Sequence[Review]:
        path = f"{_of(repository)}/pulls/{number}/reviews"
        return parsing.reviews(await self._all(path, _MAX_ITEMS))

    async def reply_to_thread(self, repository: str, number: int, thread_id: str, body: str) -> Comment:
        """Adds a comment to a review thread of the pull request `number`, and returns the comment. The API of
        Forgejo cannot reply to a comment. Therefore the method adds a comment on the same line of code: the
        git host shows all comments on one line as one thread. `thread_id`: the line number, a space and the
        path of the file.
        """
        line, _, path = thread_id.partition(" ")
        text = cut_to(body, self.max_body_characters)
        review = {"event": "COMMENT", "comments": [{"path": path, "new_position": int(line), "body": text}]}
        reviews = f"{_of(repository)}/pulls/{number}/reviews"
        added = (await self._api.send("POST", reviews, review)).json()
        found = (await self._api.get(f"{reviews}/{added['id']}/comments")).json()
        return parsing.comment(found[0] if found else added)

    async def resolve_thread(self, repository: str, number: int, thread_id: str) -> None:
        raise errors.cannot(self._api.host, "mark a review thread as resolved by its API")

    async def issue(self, repository: str, number: int) -> Issue:
        return parsing.issue((await self._api.get(f"{_of(repository)}/issues/{number}")).json())

    async def checks(self, repository: str, pull_request: PullRequest) -> Sequence[Check]:
        if pull_request.head_commit is None:
            return []
        path = f"{_of(repository)}/commits/{part(pull_request.head_commit)}/status"
        statuses = (await self._api.get(path, {"limit": PAGE_ITEMS})).json().get("statuses") or []
        return [parsing.status(one) for one in statuses][:_MAX_ITEMS]

    async def check_log(self, repository: str, check_id: str) -> str:
        raise errors.cannot(self._api.host, "give the log of a check by its API")

    async def suggested_tasks(self) -> Sequence[HostTask]:
        path = "/repos/issues/search"
        pulls = (
            await self._api.get(path, {"type": "pulls", "state": "open", "created": True, "limit": 50})
        ).json()
        issues = (
            await self._api.get(path, {"type": "issues", "state": "open", "assigned": True, "limit": 50})
        ).json()
        found = await all_at_once(self._task_of(one) for one in pulls[:_MAX_LOOKED_AT])
        tasks = [one for one in found if one is not None]
        return [*tasks, *(_task(TaskKind.OPEN_ISSUE, one) for one in issues)][:50]

    async def _task_of(self, found: dict[str, Any]) -> HostTask | None:
        repository, number = found["repository"]["full_name"], found["number"]
        pull = await self.pull_request(repository, number)
        if pull.mergeability is Mergeability.CONFLICTS:
            return _task(TaskKind.MERGE_CONFLICTS, found)
        if any(check.state is CheckState.FAILED for check in await self.checks(repository, pull)):
            return _task(TaskKind.FAILING_CHECKS, found)
        threads = await self.review_threads(repository, number)
        is_open = any(not thread.is_resolved for thread in threads)
        return _task(TaskKind.UNRESOLVED_COMMENTS, found) if is_open else None

    async def _all(self, path: str, limit: int, query: Query | None = None) -> list[dict[str, Any]]:
        reply = await self._api.get(path, {**(query or {}), "limit": PAGE_ITEMS})
        found: list[dict[str, Any]] = reply.json()
        while reply.next_link is not None and len(found) < limit:
            reply = await self._api.get(reply.next_link)
            found += reply.json()
        return found[:limit]


def _of(repository: str) -> str:
    return f"/repos/{parts(repository)}"


def _page_of(limit: int) -> dict[str, str | int | bool | None]:
    return {"limit": min(limit, PAGE_ITEMS)}


def _head(repository: str, new: NewPullRequest) -> str:
    if new.head_repository in {None, repository}:
        return new.head
    return f"{str(new.head_repository).partition('/')[0]}:{new.head}"


def _task(kind: TaskKind, found: dict[str, Any]) -> HostTask:
    return HostTask(
        kind=kind,
        repository=found["repository"]["full_name"],
        number=found["number"],
        title=found["title"],
    )
