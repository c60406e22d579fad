"""A client of GitHub for tests. Its calls are checked against GitHub's OpenAPI document."""

import json
from typing import Any

import httpx
import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.connection import HostAccess
from app_server.git_hosts.github.client import GitHub, github
from app_server.git_hosts.rate_limits import RateLimits
from tests.support.github_host import NOT_REQUIRED
from tests.support.host_contract import HostContract

NAME = "team/harbour"


API = "https://api.github.com"


Values = dict[str, Any]


class Host(httpx.MockTransport):
    """A GitHub server for tests. It answers requests from examples of GitHub's OpenAPI document, and checks
    the requests against this document. For requests that the document does not have, a test adds answers
    to `beside`; they are used in order.
    """

    def __init__(self, base: str = "") -> None:
        self.contract = HostContract("github.openapi.json", base=base, not_required=NOT_REQUIRED)
        self.beside: list[tuple[str, httpx.Response]] = []
        self.asked: list[httpx.Request] = []
        super().__init__(self._either)

    def reply(self, status: int = 200, body: Any = None, headers: dict[str, str] | None = None) -> "Host":
        self.contract.reply(status, body, headers)
        return self

    def answer_beside(self, path: str, body: Any, status: int = 200) -> "Host":
        self.beside.append((path, httpx.Response(status, json=body)))
        return self

    def example(self, name: str, **changes: Any) -> Any:
        found = self.contract.example(name)
        return {**(found[0] if isinstance(found, list) else found), **changes}

    def variables(self, at: int = -1) -> Values:
        values: Values = json.loads(self.asked[at].content)["variables"]
        return values

    @property
    def client(self) -> GitHub:
        return client_of(self)

    def _either(self, request: httpx.Request) -> httpx.Response:
        if self.beside and request.url.path == self.beside[0][0]:
            self.asked.append(request)
            return self.beside.pop(0)[1]
        return self.contract.handle_request(request)


def client_of(
    host: httpx.MockTransport, origin: str = "https://github.com", api_url: str | None = None
) -> GitHub:
    http = httpx.AsyncClient(transport=host)
    return github(HostAccess(origin, "a-token", http, RateLimits(), api_url=api_url))


def next_link(path: str) -> dict[str, str]:
    return {"link": f'<{API}{path}>; rel="next", <{API}/first>; rel="first"'}


def pull(host: Host, **changes: Any) -> Values:
    shown: Values = host.example("pull-request", number=7, **changes)
    return shown


async def failure(call: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        await call
    return caught.value
