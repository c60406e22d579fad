"""The client of GitHub and GitHub Enterprise Server, REST API version 2022-11-28.

Source: https://docs.github.com/en/rest. The client uses GitHub's GraphQL API only for review threads and for
suggested tasks (issues and pull requests that the user could give to an agent).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import httpx

from app_server.core.errors import AppError, BadRequest, NotFound
from app_server.git.providers import GitProvider
from app_server.git_hosts import errors
from app_server.git_hosts.connection import HostAccess, HostConnection, HostReply, Query
from app_server.git_hosts.github import graphql, parsing
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
    NewPullRequest,
    OpenedPullRequest,
    Organization,
    PullRequest,
    PullRequestChanges,
    PullRequestState,
    Review,
    ReviewThread,
    Slice,
)

API_VERSION = "2022-11-28"
MAX_FILE_BYTES = 1024 * 1024
MAX_LOG_CHARACTERS = 64 * 1024
_MAX_LOG_BYTES = 32 * 1024 * 1024
_MAX_ITEMS = 200
_MAY_PUSH = frozenset(("admin", "write", "maintain"))
_RAW = "application/vnd.github.raw+json"
_ALREADY_THERE = "already exists"


def github(access: HostAccess) -> "GitHub":
    """Returns a client of GitHub. `access`: the user's token and the address of the server. Without
    `access.api_url`, the client uses the API at `https://api.github.com`, or at `ORIGIN/api/v3` for GitHub
    Enterprise Server.
    """
    headers = {
        "Authorization": f"Bearer {access.token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": API_VERSION,
    }
    usual = "https://api.github.com" if access.host == "github.com" else f"{access.origin}/api/v3"
    return GitHub(access.connection(access.api_url or usual, headers, parsing.reason_of, _missing_permission))


class GitHub:
    provider = GitProvider.GITHUB
    max_body_characters = 65_536

    def __init__(self, connection: HostConnection) -> None:
        self._api = connection

    @property
    def connection(self) -> HostConnection:
        return self._api

    async def me(self) -> HostUser:
        reply = await self._api.get("/user")
        scopes = reply.headers.get("x-oauth-scopes")
        user = parsing.user(
            reply.json(),
            None if scopes is None else tuple(one.strip() for one in scopes.split(",") if one.strip()),
            _moment(reply.headers.get("github-authentication-token-expiration")),
        )
        return self._api.with_rate_limit(user)

    async def add_signing_key(self, title: str, public_key: str) -> bool:
        try:
            await self._api.send("POST", "/user/ssh_signing_keys", {"title": title, "key": public_key})
        except NotFound as error:
            # GitHub's answer to classic tokens and sign-ins without the scope.
            scope = "write:ssh_signing_key"
            raise errors.refused(self._api.host, 403, "", missing_scope=scope) from error
        except BadRequest as error:
            if "already in use" not in error.detail:
                raise
            return False
        return True

    async def addresses(self) -> frozenset[str]:
        user = (await self._api.get("/user")).json()
        return parsing.addresses(user, (await self._api.get("/user/emails", {"per_page": 100})).json())

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        reply = await self._api.get(page or "/user/orgs", None if page else {"per_page": limit})
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
        elif query:
            reply = await self._search(query, organization, limit)
        elif organization and organization.isdigit():
            path = f"/user/installations/{organization}/repositories"
            reply = await self._api.get(path, {"per_page": limit})
        elif organization:
            path = f"/orgs/{part(organization)}/repos"
            reply = await self._api.get(path, {"sort": "pushed", "per_page": limit})
        else:
            affiliation = "owner,collaborator,organization_member"
            words: Query = {"affiliation": affiliation, "sort": "pushed", "per_page": limit}
            reply = await self._api.get("/user/repos", words)
        found = reply.json()
        if isinstance(found, dict):
            found = found.get("items", found.get("repositories", []))
        return Slice(items=tuple(map(parsing.repository, found)), next_page=reply.next_link)

    async def _search(self, query: str, organization: str | None, limit: int) -> HostReply:
        # Without owners GitHub searches all public repositories.
        owners = [organization] if organization else [(await self.me()).login]
        if not organization:
            owners += [one.id for one in (await self.organizations()).items]
        words = f"{query} in:name fork:true " + " ".join(f"user:{owner}" for owner in owners)
        return await self._api.get("/search/repositories", {"q": words, "sort": "updated", "per_page": limit})

    async def repository(self, repository: str) -> HostRepository:
        return parsing.repository((await self._api.get(_of(repository))).json())

    async def branches(
        self, repository: str, query: str = "", *, page: str | None = None, limit: int = 30
    ) -> Slice[HostBranch]:
        if not query:
            reply = await self._api.get(
                page or f"{_of(repository)}/branches", None if page else {"per_page": limit}
            )
            return Slice(items=tuple(map(parsing.branch, reply.json())), next_page=reply.next_link)
        # The REST API only finds branches that begin with the words. Branches that contain them are searched
        # among the first 300.
        first = await self._all(f"{_of(repository)}/branches", 300)
        if not first:
            return Slice(items=())  # matching-refs answers 409 for a repository without commits
        found = (await self._api.get(f"{_of(repository)}/git/matching-refs/heads/{parts(query)}")).json()
        by_name = {one.name: one for one in map(parsing.branch_of_ref, found)}
        for one in first:
            branch = parsing.branch(one)
            if query.casefold() in branch.name.casefold():
                by_name[branch.name] = branch
        return Slice(items=tuple(by_name.values())[:limit])

    async def file(self, repository: str, path: str, ref: str | None = None) -> bytes | None:
        api_path = f"{_of(repository)}/contents/{parts(path)}"
        reply = await self._api.find(api_path, {"ref": ref}, accept=_RAW)
        # A directory or a submodule is answered in JSON whatever was asked for.
        is_file = reply is not None and "raw" in reply.headers.get("content-type", "raw")
        return reply.content if reply and is_file and len(reply.content) <= MAX_FILE_BYTES else None

    async def may_push(self, repository: str, login: str) -> bool:
        path = f"{_of(repository)}/collaborators/{part(login)}/permission"
        reply = await self._api.find(path)
        return reply is not None and reply.json().get("permission") in _MAY_PUSH

    async def create_pull_request(self, repository: str, new: NewPullRequest) -> OpenedPullRequest:
        if known := await self._open_one(repository, new):
            return OpenedPullRequest(pull_request=known, is_new=False)
        left_out: list[str] = []
        body = {
            "title": new.title,
            "head": _head(repository, new),
            "base": new.base,
            "body": cut_to(new.body, self.max_body_characters),
            "draft": new.is_draft,
        }
        path = f"{_of(repository)}/pulls"
        try:
            reply = await self._api.send("POST", path, body)
        except AppError as error:
            if _ALREADY_THERE in error.detail and (known := await self._open_one(repository, new)):
                return OpenedPullRequest(pull_request=known, is_new=False)
            if not (new.is_draft and "draft" in error.detail.casefold()):
                raise
            left_out.append("This repository has no drafts: the pull request is ready for review.")
            reply = await self._api.send("POST", path, {**body, "draft": False})
        opened = parsing.pull_request(reply.json())
        left_out += await self._add_labels_and_reviewers(repository, opened.number, new)
        return OpenedPullRequest(pull_request=opened, is_new=True, left_out=tuple(left_out))

    async def _add_labels_and_reviewers(self, repository: str, number: int, new: NewPullRequest) -> list[str]:
        wanted = (
            ("labels", new.labels, f"{_of(repository)}/issues/{number}/labels"),
            ("reviewers", new.reviewers, f"{_of(repository)}/pulls/{number}/requested_reviewers"),
        )
        left_out = []
        for name, values, path in wanted:
            if not values:
                continue
            try:
                await self._api.send("POST", path, {name: list(values)})
            except AppError as error:
                left_out.append(f"The {name} {', '.join(values)} were not added: {error.detail}")
        return left_out

    async def _open_one(self, repository: str, new: NewPullRequest) -> PullRequest | None:
        owner = (new.head_repository or repository).partition("/")[0]
        words: Query = {"head": f"{owner}:{new.head}", "base": new.base, "state": "open", "per_page": 1}
        found = (await self._api.get(f"{_of(repository)}/pulls", words)).json()
        return parsing.pull_request(found[0]) if found else None

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
        words: Query = {
            "state": "open" if state is PullRequestState.OPEN else "closed",
            "head": f"{repository.partition('/')[0]}:{head}" if head else None,
            "per_page": limit,
        }
        reply = await self._api.get(page or f"{_of(repository)}/pulls", None if page else words)
        found = [one for one in map(parsing.pull_request, reply.json()) if one.state is state]
        return Slice(items=tuple(found), next_page=reply.next_link)

    async def update_pull_request(
        self, repository: str, number: int, changes: PullRequestChanges
    ) -> PullRequest:
        path = f"{_of(repository)}/pulls/{number}"
        body = {
            "title": changes.title,
            "body": None if changes.body is None else cut_to(changes.body, self.max_body_characters),
            "base": changes.base,
            "state": changes.state,
        }
        if given := {name: value for name, value in body.items() if value is not None}:
            await self._api.send("PATCH", path, given)
        if changes.is_draft is not None:
            node = (await self._api.get(path)).json()["node_id"]
            await self._graphql(graphql.DRAFT if changes.is_draft else graphql.READY, {"id": node})
        return await self.pull_request(repository, number)

    async def comments(
        self,
        repository: str,
        kind: ItemKind,
        number: int,
        *,
        page: str | None = None,
    ) -> Slice[Comment]:
        path = f"{_of(repository)}/issues/{number}/comments"
        reply = await self._api.get(page or path, None if page else {"per_page": 100})
        return Slice(items=tuple(map(parsing.comment, reply.json())), next_page=reply.next_link)

    async def add_comment(
        self,
        repository: str,
        kind: ItemKind,
        number: int,
        body: str,
    ) -> Comment:
        path = f"{_of(repository)}/issues/{number}/comments"
        reply = await self._api.send("POST", path, {"body": cut_to(body, self.max_body_characters)})
        return parsing.comment(reply.json())

    async def edit_comment(
        self,
        repository: str,
        kind: ItemKind,
        number: int,
        comment_id: str,
        body: str,
    ) -> Comment:
        path = f"{_of(repository)}/issues/comments/{part(comment_id)}"
        reply = await self._api.send("PATCH", path, {"body": cut_to(body, self.max_body_characters)})
        return parsing.comment(reply.json())

    async def review_threads(self, repository: str, number: int) -> Sequence[ReviewThread]:
        owner, _, name = repository.partition("/")
        found: list[ReviewThread] = []
        after: str | None = None
        while len(found) < _MAX_ITEMS:
            values = {"owner": owner, "name": name, "number": number, "after": after}
            data = await self._graphql(graphql.THREADS, values)
            page = data["repository"]["pullRequest"]["reviewThreads"]
            found += graphql.threads(page)
            if not page["pageInfo"]["hasNextPage"]:
                break
            after = page["pageInfo"]["endCursor"]
        return found[:_MAX_ITEMS]

    async def reviews(self, repository: str, number: int) -> Sequence[Review]:
        return parsing.reviews(await self._all(f"{_of(repository)}/pulls/{number}/reviews", _MAX_ITEMS))

    async def reply_to_thread(
        self,
        repository: str,
        number: int,
        thread_id: str,
        body: str,
    ) -> Comment:
        values = {"id": thread_id, "body": cut_to(body, self.max_body_characters)}
        data = await self._graphql(graphql.REPLY, values)
        return graphql.comment(data["addPullRequestReviewThreadReply"]["comment"])

    async def resolve_thread(self, repository: str, number: int, thread_id: str) -> None:
        await self._graphql(graphql.RESOLVE, {"id": thread_id})

    async def issue(self, repository: str, number: int) -> Issue:
        return parsing.issue((await self._api.get(f"{_of(repository)}/issues/{number}")).json())

    async def checks(self, repository: str, pull_request: PullRequest) -> Sequence[Check]:
        if pull_request.head_commit is None:
            return []
        commit = f"{_of(repository)}/commits/{part(pull_request.head_commit)}"
        runs = await self._all(f"{commit}/check-runs", _MAX_ITEMS, "check_runs")
        statuses = (await self._api.get(f"{commit}/status", {"per_page": 100})).json()["statuses"]
        return [*map(parsing.check_run, runs), *map(parsing.status, statuses)][:_MAX_ITEMS]

    async def check_log(self, repository: str, check_id: str) -> str:
        path = f"{_of(repository)}/actions/jobs/{part(check_id)}/logs"
        reply = await self._api.get(path, accept="*/*", max_bytes=_MAX_LOG_BYTES)
        return reply.content.decode(errors="replace")[-MAX_LOG_CHARACTERS:]

    async def suggested_tasks(self) -> Sequence[HostTask]:
        # Items of organisations that want single sign-on are missing, with an error; the others are there.
        return graphql.tasks(await self._graphql(graphql.TASKS, {}, may_be_partial=True))[:50]

    async def _all(self, path: str, limit: int, inside: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        reply = await self._api.get(path, {"per_page": 100})
        while True:
            page = reply.json()
            found += page[inside] if inside else page
            if reply.next_link is None or len(found) >= limit:
                return found[:limit]
            reply = await self._api.get(reply.next_link)

    async def _graphql(
        self, query: str, variables: dict[str, Any], *, may_be_partial: bool = False
    ) -> dict[str, Any]:
        url = self._api.api_url.removesuffix("/v3") + "/graphql"
        reply = (await self._api.send("POST", url, {"query": query, "variables": variables})).json()
        data: dict[str, Any] = reply.get("data") or {}
        said = reply.get("errors") or []
        if said and not (may_be_partial and data and all(data.values())):
            raise graphql.error_of(self._api.host, said)
        return data


def _of(repository: str) -> str:
    return f"/repos/{parts(repository)}"


def _head(repository: str, new: NewPullRequest) -> str:
    if new.head_repository in {None, repository}:
        return new.head
    return f"{str(new.head_repository).partition('/')[0]}:{new.head}"


def _moment(text: str | None) -> datetime | None:
    """Parses the time at which a token expires, from a header of GitHub such as `2026-12-01 10:00:00 UTC`.
    Returns None if `text` is None or has another form.
    """
    try:
        return datetime.strptime(text.replace(" UTC", " +0000"), "%Y-%m-%d %H:%M:%S %z") if text else None
    except ValueError:
        return None


def _missing_permission(reply: httpx.Response, _said: Any) -> str | None:
    if sso := reply.headers.get("x-github-sso"):
        return f"the organisation's single sign-on ({sso.partition('url=')[2] or sso})"
    wanted = ("x-accepted-github-permissions", "x-accepted-oauth-scopes")
    return next((str(reply.headers[name]) for name in wanted if reply.headers.get(name)), None)
