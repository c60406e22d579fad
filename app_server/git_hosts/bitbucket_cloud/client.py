"""The client of Bitbucket Cloud, REST API version 2.0. Source:
https://developer.atlassian.com/cloud/bitbucket/rest/. Bitbucket Cloud has had no issue tracker since August
2026.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import httpx

from app_server.core.errors import AppError, BadRequest, Conflict
from app_server.git.providers import GitProvider
from app_server.git_hosts import errors
from app_server.git_hosts.bitbucket_cloud import parsing, queries
from app_server.git_hosts.connection import HostAccess, HostConnection, Query, all_at_once
from app_server.git_hosts.paths_and_bodies import cut_to, part, parts
from app_server.git_hosts.plain_text import end_of_log
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

API = "https://api.bitbucket.org/2.0"
MAX_FILE_BYTES = 1024 * 1024
_MAX_LOG_BYTES = 32 * 1024 * 1024
_MAX_ITEMS = 200
_MAX_MEMBERS = 1000
_MAX_PULLS_ON_A_PAGE = 50
_MAX_LOOKED_AT = 10
_MAX_WORKSPACES = 20
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_MAY_PUSH = frozenset(("write", "admin"))


def bitbucket_cloud(access: HostAccess) -> "BitbucketCloud":
    """Returns a client that uses this token for Bitbucket Cloud. `access.username`: the e-mail address of the
    owner of an API token; None for an access token.
    """
    basic = b64encode(f"{access.username}:{access.token}".encode()).decode()
    headers = {"Authorization": f"Basic {basic}" if access.username else f"Bearer {access.token}"}
    usual = API if access.origin == "https://bitbucket.org" else f"{access.origin}/2.0"
    return BitbucketCloud(
        access.connection(access.api_url or usual, headers, parsing.reason_of, _missing_scope)
    )


def _missing_scope(_reply: httpx.Response, said: Any) -> str | None:
    return parsing.missing_scope(said)


class BitbucketCloud:
    provider = GitProvider.BITBUCKET
    max_body_characters = 32_768

    def __init__(self, connection: HostConnection) -> None:
        self._api = connection

    async def me(self) -> HostUser:
        reply = await self._api.get("/user")
        try:
            emails = (await self._api.get("/user/emails")).json()["values"]
        except AppError:
            emails = []  # The token may not read them.
        user = parsing.user(reply.json(), emails, reply.headers.get("x-oauth-scopes"))
        return self._api.with_rate_limit(user)

    async def add_signing_key(self, title: str, public_key: str) -> bool:
        del title, public_key
        raise errors.cannot(self._api.host, "take a signing key by its API")

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        found, next_page = await self._page("/user/workspaces", {"pagelen": limit}, page)
        slugs = [one["workspace"]["slug"] for one in found]
        return Slice(items=tuple(Organization(id=slug, name=slug) for slug in slugs), next_page=next_page)

    async def repositories(
        self,
        query: str = "",
        *,
        organization: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[HostRepository]:
        """Returns repositories of which the user is a member. Bitbucket has a separate list for each
        workspace (a group of repositories). A page joins one page of each list, latest change first. `page`,
        `Slice.next_page`: the addresses of the next pages of the lists, separated by spaces.
        """
        if page:
            pages = await all_at_once(self._page(one, {}, one) for one in page.split())
        else:
            workspaces = [organization] if organization else await self._workspaces()
            words: Query = {
                "role": "member",
                "q": queries.name_contains(query),
                "sort": "-updated_on",
                "pagelen": max(1, min(100, limit // max(1, len(workspaces)))),
            }
            paths = [f"/repositories/{part(workspace)}" for workspace in workspaces]
            pages = await all_at_once(self._page(path, words) for path in paths)
        found = [one for rows, _ in pages for one in rows]
        found.sort(key=lambda one: one.get("updated_on") or "", reverse=True)
        next_page = " ".join(address for _, address in pages if address)
        return Slice(items=tuple(map(parsing.repository, found)), next_page=next_page or None)

    async def repository(self, repository: str) -> HostRepository:
        return parsing.repository((await self._api.get(_of(repository))).json())

    async def branches(
        self, repository: str, query: str = "", *, page: str | None = None, limit: int = 30
    ) -> Slice[HostBranch]:
        words: Query = {
            "q": queries.name_contains(query),
            "sort": "-target.date",
            "pagelen": limit,
        }
        found, next_page = await self._page(f"{_of(repository)}/refs/branches", words, page)
        return Slice(items=tuple(map(parsing.branch, found)), next_page=next_page)

    async def file(self, repository: str, path: str, ref: str | None = None) -> bytes | None:
        if (commit := await self._commit(repository, ref)) is None:
            return None
        api_path = f"{_of(repository)}/src/{part(commit)}/{parts(path)}"
        reply = await self._api.find(api_path, accept="*/*")
        if reply is None or len(reply.content) > MAX_FILE_BYTES:
            return None
        if "json" in reply.headers.get("content-type", ""):
            # A file, or the list of a directory.
            about = await self._api.find(api_path, {"format": "meta"})
            if about is None or about.json().get("type") != "commit_file":
                return None
        return reply.content

    async def may_push(self, repository: str, login: str) -> bool:
        """Returns whether a user may push to the repository. `login`: an account id or a `{uuid}`, not a
        nickname.
        """
        me = (await self._api.get("/user")).json()
        workspace, _, slug = repository.partition("/")
        whose = f"repository.full_name={queries.quoted(repository)}"
        path = f"/user/workspaces/{part(workspace)}/permissions/repositories"
        if login not in {me.get("account_id"), me["uuid"]}:
            field = "user.uuid" if login.startswith("{") else "user.account_id"
            whose = f"{field}={queries.quoted(login)}"
            path = f"/workspaces/{part(workspace)}/permissions/repositories/{part(slug)}"
        found, _ = await self._page(path, {"q": whose})
        return any(
            one.get("permission") in _MAY_PUSH
            and (
                path.startswith("/user") or login in {one["user"].get("account_id"), one["user"].get("uuid")}
            )
            for one in found
        )

    async def create_pull_request(self, repository: str, new: NewPullRequest) -> OpenedPullRequest:
        if known := await self._open_one(repository, new):
            return OpenedPullRequest(pull_request=known, is_new=False)
        reviewers, left_out = await self._reviewers(repository, new.reviewers)
        if new.labels:
            left_out.append(f"Bitbucket has no labels: {', '.join(new.labels)} were left out.")
        body = {
            "title": parsing.title(new.title),
            "description": cut_to(new.body, self.max_body_characters),
            "source": {
                "branch": {"name": new.head},
                "repository": {"full_name": new.head_repository or repository},
            },
            "destination": {"branch": {"name": new.base}},
            "reviewers": reviewers,
            "draft": new.is_draft,
        }
        path = f"{_of(repository)}/pullrequests"
        try:
            reply = await self._api.send("POST", path, body)
        except (BadRequest, Conflict) as error:
            if known := await self._open_one(repository, new):
                return OpenedPullRequest(pull_request=known, is_new=False)
            if not reviewers or "reviewer" not in error.detail.casefold():
                raise
            left_out.append(f"Bitbucket did not take the reviewers. {error.detail}")
            reply = await self._api.send("POST", path, {**body, "reviewers": []})
        opened = parsing.pull_request(reply.json())
        return OpenedPullRequest(pull_request=opened, is_new=True, left_out=tuple(left_out))

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        path = _pull(repository, number)
        found = parsing.pull_request((await self._api.get(path)).json())
        if found.state is not PullRequestState.OPEN:
            return found
        try:
            conflicts = await self._api.find(f"{path}/conflicts")
        except AppError:
            return found
        return found.model_copy(
            update={"mergeability": Mergeability.CONFLICTS}
            if conflicts and parsing.rows(conflicts.json())
            else {}
        )

    async def pull_requests(
        self,
        repository: str,
        *,
        state: PullRequestState = PullRequestState.OPEN,
        head: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[PullRequest]:
        wanted = queries.pull_requests(repository, state, head)
        words: Query = {"q": wanted, "sort": "-created_on", "pagelen": min(limit, _MAX_PULLS_ON_A_PAGE)}
        found, next_page = await self._page(f"{_of(repository)}/pullrequests", words, page)
        return Slice(items=tuple(map(parsing.pull_request, found)), next_page=next_page)

    async def update_pull_request(
        self, repository: str, number: int, changes: PullRequestChanges
    ) -> PullRequest:
        path = _pull(repository, number)
        known = (await self._api.get(path)).json()
        wanted = parsing.changed_fields(changes, self.max_body_characters)
        if wanted:
            # Without them Bitbucket refuses the call, or takes the reviewers away.
            current_fields = {
                "title": known["title"],
                "reviewers": [{"uuid": one["uuid"]} for one in known["reviewers"]],
            }
            known = (await self._api.send("PUT", path, {**current_fields, **wanted})).json()
        is_open = known["state"] == "OPEN"
        if changes.state is PullRequestState.OPEN and not is_open:
            raise errors.cannot(self._api.host, "open a pull request again. Open a new one")
        if changes.state is PullRequestState.CLOSED and is_open:
            known = (await self._api.send("POST", f"{path}/decline")).json()
        return parsing.pull_request(known)

    async def comments(
        self, repository: str, kind: ItemKind, number: int, *, page: str | None = None
    ) -> Slice[Comment]:
        words: Query = {"pagelen": 100, "sort": "created_on"}
        found, next_page = await self._page(f"{self._item(repository, kind, number)}/comments", words, page)
        remaining = [one for one in found if not one.get("deleted") and not one.get("inline")]
        return Slice(items=tuple(map(parsing.comment, remaining)), next_page=next_page)

    async def add_comment(self, repository: str, kind: ItemKind, number: int, body: str) -> Comment:
        return await self._write("POST", f"{self._item(repository, kind, number)}/comments", body)

    async def edit_comment(
        self, repository: str, kind: ItemKind, number: int, comment_id: str, body: str
    ) -> Comment:
        path = f"{self._item(repository, kind, number)}/comments/{part(comment_id)}"
        return await self._write("PUT", path, body)

    async def review_threads(self, repository: str, number: int) -> Sequence[ReviewThread]:
        found = await self._all(f"{_pull(repository, number)}/comments", 5 * _MAX_ITEMS)
        return parsing.threads(found)[:_MAX_ITEMS]

    async def reviews(self, repository: str, number: int) -> Sequence[Review]:
        return parsing.reviews((await self._api.get(_pull(repository, number))).json())

    async def reply_to_thread(self, repository: str, number: int, thread_id: str, body: str) -> Comment:
        path = f"{_pull(repository, number)}/comments"
        return await self._write("POST", path, body, {"parent": {"id": _number(thread_id)}})

    async def resolve_thread(self, repository: str, number: int, thread_id: str) -> None:
        await self._api.send("POST", f"{_pull(repository, number)}/comments/{part(thread_id)}/resolve")

    async def issue(self, repository: str, number: int) -> Issue:
        raise _no_issues(self._api.host)

    async def checks(self, repository: str, pull_request: PullRequest) -> Sequence[Check]:
        path = f"{_pull(repository, pull_request.number)}/statuses"
        return [parsing.status(one) for one in await self._all(path, _MAX_ITEMS)]

    async def check_log(self, repository: str, check_id: str) -> str:
        """Returns the end of the logs of a pipeline's last five failed steps, at most 64 KiB. If no step
        failed, returns the end of the logs of the last five steps. `check_id`: the number of the pipeline.
        """
        path = f"{_of(repository)}/pipelines/{part(check_id)}/steps"
        steps = await self._all(path, 100)
        wanted = [step for step in steps if parsing.has_failed(step)] or steps
        logs = await all_at_once(
            self._api.find(f"{path}/{part(step['uuid'])}/log", accept="application/octet-stream")
            for step in wanted[-5:]
        )
        return end_of_log(b"\n".join(log.content for log in logs if log))

    async def suggested_tasks(self) -> Sequence[HostTask]:
        uuid = (await self._api.get("/user")).json()["uuid"]
        pages = await all_at_once(
            self._page(f"/workspaces/{part(one)}/pullrequests/{part(uuid)}", {"state": "OPEN"})
            for one in await self._workspaces()
        )
        found = sorted(
            (one for rows, _ in pages for one in rows), key=lambda one: one.get("updated_on") or ""
        )
        tasks = await all_at_once(map(self._task, found[::-1][:_MAX_LOOKED_AT]))
        return [task for task in tasks if task]

    async def _task(self, row: dict[str, Any]) -> HostTask | None:
        name = row["destination"]["repository"]["full_name"]
        pull = await self.pull_request(name, row["id"])
        kind = None
        if pull.mergeability is Mergeability.CONFLICTS:
            kind = TaskKind.MERGE_CONFLICTS
        elif any(check.state is CheckState.FAILED for check in await self.checks(name, pull)):
            kind = TaskKind.FAILING_CHECKS
        elif any(not thread.is_resolved for thread in await self.review_threads(name, pull.number)):
            kind = TaskKind.UNRESOLVED_COMMENTS
        if kind is None:
            return None
        return HostTask(kind=kind, repository=name, number=pull.number, title=pull.title)

    async def _open_one(self, repository: str, new: NewPullRequest) -> PullRequest | None:
        wanted = queries.open_one(repository, new)
        found, _ = await self._page(f"{_of(repository)}/pullrequests", {"q": wanted})
        return parsing.pull_request(found[0]) if found else None

    async def _reviewers(
        self, repository: str, wanted: Sequence[str]
    ) -> tuple[list[dict[str, str]], list[str]]:
        if not wanted:
            return [], []
        me = (await self._api.get("/user")).json()
        path = f"/workspaces/{part(repository.partition('/')[0])}/members"
        members = [one["user"] for one in await self._all(path, _MAX_MEMBERS)]
        return parsing.reviewers(members, me, wanted)

    async def _commit(self, repository: str, ref: str | None) -> str | None:
        """Returns the hash of a commit for use in a URL path, where a branch name with slashes fails. `ref`:
        a branch, tag or hash; None means the default branch. Returns None if there is no such ref.
        """
        name = ref or (await self.repository(repository)).default_branch
        if name is None or _COMMIT.fullmatch(name):
            return name
        for kind in ("branches", "tags"):
            path = f"{_of(repository)}/refs/{kind}"
            found, _ = await self._page(path, {"q": f"name={queries.quoted(name)}"})
            for one in found:
                return str(one["target"]["hash"])
        return None

    async def _workspaces(self) -> list[str]:
        found = await self._all("/user/workspaces", _MAX_WORKSPACES)
        return [one["workspace"]["slug"] for one in found]

    async def _write(self, method: str, path: str, body: str, more: dict[str, Any] | None = None) -> Comment:
        content = {"content": {"raw": cut_to(body, self.max_body_characters)}, **(more or {})}
        return parsing.comment((await self._api.send(method, path, content)).json())

    async def _page(
        self, path: str, query: Query, page: str | None = None
    ) -> tuple[list[dict[str, Any]], str | None]:
        reply = (await (self._api.get(page) if page else self._api.get(path, query))).json()
        return reply["values"], reply.get("next")

    async def _all(self, path: str, limit: int) -> list[dict[str, Any]]:
        found, next_page = await self._page(path, {"pagelen": min(100, limit)})
        while next_page and len(found) < limit:
            more, next_page = await self._page(path, {}, next_page)
            found = found + more
        return found[:limit]

    def _item(self, repository: str, kind: ItemKind, number: int) -> str:
        if kind is ItemKind.ISSUE:
            raise _no_issues(self._api.host)
        return _pull(repository, number)


def _of(repository: str) -> str:
    workspace, _, slug = repository.partition("/")
    return f"/repositories/{part(workspace)}/{part(slug)}"


def _pull(repository: str, number: int) -> str:
    return f"{_of(repository)}/pullrequests/{number}"


def _number(comment_id: str) -> int | str:
    return int(comment_id) if comment_id.isdecimal() else comment_id


def _no_issues(host: str) -> AppError:
    return errors.cannot(host, "hold issues: Bitbucket Cloud has none since August 2026")
