"""Routes that search the user's git hosts for namespaces, repositories, branches and suggested tasks.

The replies have the field names of OpenHands' API, because Slipway accepts OpenHands' clients. Slipway does
not store the data in the database; it keeps suggested tasks in memory for a minute.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from app_server.access.authentication import CurrentUser
from app_server.core.database import ServerDatabase
from app_server.core.errors import AppError, BadRequest
from app_server.core.pagination import Page, PageId, decode_page_id, encode_page_id, page_of
from app_server.git.address import parse_address
from app_server.git.providers import GitProvider
from app_server.git_hosts.connect import ConnectedHost, GitHosts
from app_server.git_hosts.connection import all_at_once
from app_server.git_hosts.schemas import HostRepository, Slice
from app_server.git_hosts.search_results import (
    Branch,
    FailedHost,
    Repository,
    SuggestedTaskInfo,
    SuggestedTaskPage,
)
from app_server.users.outgoing import http_of

router = APIRouter(prefix="/api/v1/git", tags=["Git"])

MAX_QUERY_CHARACTERS = 300

Limit = Annotated[int, Query(ge=1, le=100)]
Words = Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS)]
HostName = Annotated[str | None, Query(max_length=300, description="Which host, if there are several")]


class SortOrder(StrEnum):
    """The order of the repositories on a page. Slipway sorts each page by itself, not the whole list. If a
    request states no order, the repositories keep the order of the git host: latest change first, if the host
    can sort by time. An order by number of forks is not supported.
    """

    STARS_DESC = "stars-desc"
    STARS_ASC = "stars-asc"
    FORKS_DESC = "forks-desc"
    FORKS_ASC = "forks-asc"
    UPDATED_DESC = "updated-desc"
    UPDATED_ASC = "updated-asc"


_SORT_KEYS: dict[str, Callable[[HostRepository], Any]] = {
    "stars": lambda one: one.stars or 0,
    "updated": lambda one: one.pushed_at.timestamp() if one.pushed_at else 0.0,
}


def _git_hosts(request: Request, user: CurrentUser) -> GitHosts:
    state = request.state
    return GitHosts(user.id, state.cipher, http_of(request, user), state.git_rate_limits, state.git_tokens)


CurrentGitHosts = Annotated[GitHosts, Depends(_git_hosts)]
"""A FastAPI dependency: the object that finds the git hosts for which the current user has stored a token."""


async def _connected(
    hosts: CurrentGitHosts, database: ServerDatabase, provider: GitProvider, host: HostName = None
) -> ConnectedHost:
    # A session that ends before the host is asked: hosts may take seconds.
    async with database.read() as session:
        if host is None:
            return await hosts.of_provider(session, provider)
        return await hosts.named(session, host)


Connected = Annotated[ConnectedHost, Depends(_connected)]


@router.get("/installations/search")
async def search_installations(connected: Connected, page_id: PageId = None, limit: Limit = 100) -> Page[str]:
    """Returns ids with which search_repositories can limit its results to one namespace. Returns one id for
    each namespace with repositories that the user may see. A namespace is an organisation, group, workspace
    or project.
    """
    found = await connected.client.organizations(_host_page(page_id), limit)
    return Page[str](items=[one.id for one in found.items], next_page_id=_page_id(found))


@router.get("/repositories/search")
async def search_repositories(
    connected: Connected,
    query: Annotated[str | None, Query(max_length=MAX_QUERY_CHARACTERS)] = None,
    installation_id: Annotated[str | None, Query(max_length=200)] = None,
    page_id: PageId = None,
    limit: Limit = 100,
    sort_order: SortOrder | None = None,
) -> Page[Repository]:
    """Returns one page of the user's repositories at one git host.

    `query`: a part of the name, or the URL of a repository at this host. `installation_id`: an id from
    search_installations; only repositories of this namespace (such as an organisation) are returned.
    `sort_order`: how Slipway sorts the repositories of each page.

    400 `sort_order_not_supported` if `sort_order` is an order by number of forks. 400
    `repository_at_other_host` if `query` is a URL at another host.
    """
    words = (query or "").strip()
    if "://" in words:
        found = await _by_url(connected, words)
    else:
        found = await connected.client.repositories(
            words, organization=installation_id, page=_host_page(page_id), limit=limit
        )
    provider = connected.provider
    items = [Repository.of(one, provider) for one in _sorted(found.items, sort_order)]
    return Page[Repository](items=items, next_page_id=_page_id(found))


@router.get("/branches/search")
async def search_branches(
    connected: Connected,
    repository: Annotated[str, Query(min_length=1, max_length=500)],
    query: Words = "",
    page_id: PageId = None,
    limit: Limit = 30,
) -> Page[Branch]:
    """Returns branches of a repository at one of the user's git hosts whose name contains `query`."""
    client, page = connected.client, _host_page(page_id)
    found = await client.branches(repository, query.strip(), page=page, limit=limit)
    return Page[Branch](items=[Branch.of(one) for one in found.items], next_page_id=_page_id(found))


@router.get("/suggested-tasks/search")
async def search_suggested_tasks(
    hosts: CurrentGitHosts,
    database: ServerDatabase,
    request: Request,
    page_id: PageId = None,
    limit: Limit = 30,
) -> SuggestedTaskPage:
    """Returns tasks for the user from all of the user's git hosts. These tasks are the user's open pull
    requests with conflicts, failing checks or unresolved comments, and issues that are assigned to the user.
    If a host fails, its name is in `failed_hosts`, and the tasks of the other hosts are still returned.
    """
    async with database.read() as session:
        connected = await hosts.all(session)
    tasks: list[SuggestedTaskInfo] = []
    failed: list[FailedHost] = []

    async def ask(host: ConnectedHost) -> None:
        try:
            found = await request.state.suggested_tasks.of(hosts.user_id, host)
        except AppError as error:
            failed.append(FailedHost(host=host.origin.removeprefix("https://"), detail=error.detail))
        else:
            tasks.extend(SuggestedTaskInfo.of(task, host) for task in found)

    await all_at_once((ask(host) for host in connected), limit=8)
    items, next_page_id = page_of(tasks, page_id, limit)
    return SuggestedTaskPage(items=items, next_page_id=next_page_id, failed_hosts=failed)


async def _by_url(connected: ConnectedHost, url: str) -> Slice[HostRepository]:
    address = parse_address(url)
    if address.origin != connected.origin or address.web_url is None:
        raise BadRequest(
            f"This address is not at {connected.origin}.",
            code="repository_at_other_host",
            fix="Search at the host of the repository.",
        )
    name = address.web_url.removeprefix(connected.origin).strip("/").removesuffix(".git")
    return Slice[HostRepository](items=(await connected.client.repository(name),))


def _sorted(found: tuple[HostRepository, ...], order: SortOrder | None) -> list[HostRepository]:
    if order is None:
        return list(found)
    name, _, direction = order.partition("-")
    if name not in _SORT_KEYS:
        raise BadRequest("Repositories cannot be sorted by forks.", code="sort_order_not_supported")
    return sorted(found, key=_SORT_KEYS[name], reverse=direction == "desc")


def _host_page(page_id: str | None) -> str | None:
    return decode_page_id(page_id, 1)[0] if page_id is not None else None


def _page_id(found: Slice[Any]) -> str | None:
    return encode_page_id(found.next_page) if found.next_page is not None else None
