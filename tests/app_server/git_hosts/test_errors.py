"""Tests of failed calls to git hosts: the error for each failure, which calls are repeated, and to which
hosts the token is sent.
"""

import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tenacity import wait_none

from app_server.core.errors import AppError, BadGateway
from app_server.git_hosts import connection
from app_server.git_hosts.checked_client import careful
from app_server.git_hosts.connection import HostAccess, HostConnection
from app_server.git_hosts.github.client import github
from app_server.git_hosts.rate_limits import MAX_TOKENS, RateLimits

NOW = 1_800_000_000.0
TOKEN = "token-canary-5e1d"
Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "wait_exponential_jitter", lambda **_: wait_none())


def connected(handler: Handler, limits: RateLimits | None = None) -> HostConnection:
    return HostConnection(
        "git.example",
        "https://api.git.example/v1",
        {"Authorization": f"Bearer {TOKEN}"},
        httpx.AsyncClient(transport=httpx.MockTransport(handler)),
        limits or RateLimits(lambda: NOW),
        lambda said: said.get("message", "") if isinstance(said, dict) else "",
        lambda reply, _said: reply.headers.get("x-needs"),
    )


def answers(*replies: httpx.Response) -> tuple[Handler, list[httpx.Request]]:
    seen: list[httpx.Request] = []
    left = list(replies)

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return left.pop(0)

    return handler, seen


async def failure(call: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        await call
    assert TOKEN not in f"{caught.value.detail} {caught.value.fix}"
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "own_status"),
    [
        (400, "git_host_refused", 400),
        (401, "git_token_refused", 502),
        (403, "git_host_forbidden", 403),
        (404, "git_host_not_found", 404),
        (405, "git_host_refused", 400),
        (406, "git_host_refused", 400),
        (409, "git_host_conflict", 409),
        (410, "git_host_feature_off", 410),
        (413, "git_host_refused", 400),
        (415, "git_host_refused", 400),
        (418, "git_host_failed", 502),
        (422, "git_host_refused", 400),
        (423, "git_host_archived", 409),
        (500, "git_host_failed", 502),
        (501, "git_host_failed", 502),
        (502, "git_host_failed", 502),
        (504, "git_host_failed", 502),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_each_status_becomes_one_error(method: str, status: int, code: str, own_status: int) -> None:
    its = connected(lambda _request: httpx.Response(status, json={"message": "The words of the host."}))
    error = await failure(its.get("/x") if method == "GET" else its.send(method, "/x", {}))
    assert (error.code, error.status) == (code, own_status)
    assert "git.example" in error.detail
    if status not in {401, 500, 502, 504}:
        assert "The words of the host." in error.detail
    assert ".." not in error.detail


async def test_a_missing_permission_is_named() -> None:
    its = connected(lambda _request: httpx.Response(403, json={}, headers={"x-needs": "contents=write"}))
    assert (await failure(its.get("/x"))).fix == "The token needs: contents=write."


async def test_long_words_of_a_host_are_cut_and_put_on_one_line() -> None:
    its = connected(lambda _request: httpx.Response(422, json={"message": "no\n\nway " * 500}))
    detail = (await failure(its.get("/x"))).detail
    assert len(detail) < 600
    assert "\n" not in detail


async def test_reading_is_tried_three_times_and_changing_once() -> None:
    handler, seen = answers(httpx.Response(502), httpx.Response(503), httpx.Response(200, json={"a": 1}))
    assert (await connected(handler).get("/x")).json() == {"a": 1}
    assert len(seen) == 3
    handler, seen = answers(*(httpx.Response(500) for _ in range(4)))
    assert (await failure(connected(handler).get("/x"))).code == "git_host_failed"
    assert len(seen) == 3
    handler, seen = answers(httpx.Response(500), httpx.Response(201, json={}))
    assert (await failure(connected(handler).send("POST", "/x", {}))).code == "git_host_failed"
    assert len(seen) == 1


async def test_a_host_that_cannot_be_reached_is_a_failure_with_the_cause() -> None:
    calls = 0

    def unreachable(request: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        raise httpx.ConnectError("no route to host", request=request)

    assert "no route to host" in (await failure(connected(unreachable).get("/x"))).detail
    assert calls == 3
    await failure(connected(unreachable).send("PATCH", "/x", {}))
    assert calls == 4


async def test_a_host_without_an_address_is_named_in_a_sentence() -> None:
    def unknown(request: httpx.Request) -> httpx.Response:
        cause = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        raise httpx.ConnectError(str(cause), request=request) from cause

    found = await failure(connected(unknown).get("/x"))
    assert found.detail == "git.example could not be asked: git.example cannot be found in the DNS."


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (httpx.Response(429, json={}, headers={"retry-after": "17"}), "17"),
        (httpx.Response(429, json={}, headers={"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}), "30"),
        (httpx.Response(429, json={}), "60"),
        (httpx.Response(429, json={}, headers={"retry-after": "soon"}), "60"),
        (httpx.Response(429, json={}, headers={"retry-after": "99999999"}), "3600"),
        (httpx.Response(503, json={}, headers={"retry-after": "5"}), "5"),
        (httpx.Response(403, json={}, headers={"retry-after": "9"}), "9"),
        (
            httpx.Response(
                403,
                json={},
                headers={
                    "x-ratelimit-limit": "5000",
                    "x-ratelimit-remaining": "0",
                    "x-ratelimit-reset": str(int(NOW) + 90),
                },
            ),
            "90",
        ),
        (
            httpx.Response(429, json={}, headers={"ratelimit-remaining": "0", "ratelimit-reset": "44"}),
            "44",
        ),
    ],
)
async def test_after_a_rate_limit_no_call_is_made_with_this_token(
    reply: httpx.Response, seconds: str
) -> None:
    now = NOW
    limits = RateLimits(lambda: now)
    handler, seen = answers(reply, httpx.Response(200, json={}))
    its = connected(handler, limits)
    for call in (its.get("/x"), its.send("POST", "/x", {})):
        error = await failure(call)
        assert (error.code, error.headers) == ("git_rate_limited", {"Retry-After": seconds})
    assert len(seen) == 1
    now += float(seconds) + 1
    await its.get("/x")
    assert len(seen) == 2


async def test_a_good_reply_may_ask_for_a_pause() -> None:
    # Azure DevOps sends Retry-After with a successful reply.
    limits = RateLimits(lambda: NOW)
    handler, seen = answers(httpx.Response(200, json={}, headers={"retry-after": "3"}))
    its = connected(handler, limits)
    await its.get("/x")
    assert (await failure(its.get("/x"))).code == "git_rate_limited"
    assert len(seen) == 1


async def test_what_is_left_is_known_for_each_token() -> None:
    limits = RateLimits(lambda: NOW)
    headers = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "59", "x-ratelimit-reset": "1800000100"}
    its = connected(lambda _request: httpx.Response(200, json={}, headers=headers), limits)
    await its.get("/x")
    known = limits.of(its.rate_key)
    assert (known.limit, known.remaining, known.resets_at) == (60, 59, 1_800_000_100)
    assert TOKEN not in its.rate_key
    assert TOKEN not in repr(its)


async def test_only_so_many_tokens_are_remembered() -> None:
    limits = RateLimits(lambda: NOW)
    refused = httpx.Response(429, headers={"retry-after": "60"})
    for number in range(MAX_TOKENS + 1):
        limits.note(str(number), refused)
    assert limits.wait_seconds("0") == 0
    assert limits.wait_seconds("1") == limits.wait_seconds(str(MAX_TOKENS)) == 60


async def test_a_redirect_to_another_host_is_followed_without_the_token() -> None:
    handler, seen = answers(
        httpx.Response(302, headers={"location": "https://logs.example/job?key=1"}),
        httpx.Response(200, content=b"log"),
    )
    reply = await connected(handler).get("/job/logs", {"attempt": 1}, accept="*/*")
    assert (reply.content, str(seen[1].url)) == (b"log", "https://logs.example/job?key=1")
    assert seen[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in str(seen[1].headers)


@pytest.mark.parametrize("other", ["https://api.git.example:8443/x", "http://api.git.example/x"])
async def test_another_port_or_scheme_is_another_host(other: str) -> None:
    handler, seen = answers(
        httpx.Response(301, headers={"location": other}), httpx.Response(200, json={"a": 1})
    )
    await connected(handler).get("/x")
    assert "authorization" not in seen[1].headers


async def test_a_renamed_repository_is_found_when_reading_and_when_changing() -> None:
    moved = "https://api.git.example/v1/repositories/7/pulls"
    handler, seen = answers(
        httpx.Response(301, headers={"location": moved}),
        httpx.Response(200, json=[]),
        httpx.Response(307, headers={"location": moved}),
        httpx.Response(201, json={"number": 1}),
    )
    its = connected(handler)
    assert (await its.get("/repos/a/b/pulls", {"state": "open"})).json() == []
    assert (await its.send("POST", "/repos/a/b/pulls", {"title": "T"})).json() == {"number": 1}
    assert [request.method for request in seen] == ["GET", "GET", "POST", "POST"]
    assert seen[3].content == seen[2].content == b'{"title":"T"}'
    assert seen[3].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (302, "https://api.git.example/v1/y"),
        (307, "https://other.example/y"),
        (307, "http://api.git.example/"),
    ],
)
async def test_a_change_does_not_follow_other_redirects(status: int, location: str) -> None:
    handler, seen = answers(httpx.Response(status, headers={"location": location}))
    assert (await failure(connected(handler).send("POST", "/x", {}))).code == "git_token_refused"
    assert len(seen) == 1


async def test_redirects_without_end_are_a_failure() -> None:
    its = connected(
        lambda _request: httpx.Response(302, headers={"location": "https://api.git.example/v1/x"})
    )
    assert "redirects too often" in (await failure(its.get("/x"))).detail


async def test_the_next_page_must_be_on_the_same_host() -> None:
    handler, seen = answers(
        httpx.Response(200, json=[], headers={"link": '<https://evil.example/x?page=2>; rel="next"'})
    )
    its = connected(handler)
    reply = await its.get("/x")
    assert reply.next_link == "https://evil.example/x?page=2"
    assert (await failure(its.get(reply.next_link))).code == "git_host_failed"
    assert len(seen) == 1


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(200, html="<title>Sign in</title>"),
        httpx.Response(203, html="<title>Sign in</title>"),
        httpx.Response(302, html="<title>Moved</title>"),
    ],
)
async def test_a_sign_in_page_means_that_the_token_is_not_taken(reply: httpx.Response) -> None:
    assert (await failure(connected(lambda _request: reply).get("/x"))).code == "git_token_refused"


async def test_an_error_page_in_html_is_an_error_without_words() -> None:
    its = connected(lambda _request: httpx.Response(404, html="<h1>" + "x" * 1000))
    assert (await failure(its.get("/x"))).detail == (
        "git.example has nothing there, or this token cannot see it."
    )


async def test_broken_json_in_an_error_is_no_failure_of_ours() -> None:
    its = connected(
        lambda _request: httpx.Response(422, content=b'{"mess', headers={"content-type": "application/json"})
    )
    assert (await failure(its.get("/x"))).code == "git_host_refused"


async def test_answers_that_are_too_long_are_not_read() -> None:
    its = connected(lambda _request: httpx.Response(200, content=b"x" * 2000))
    error = await failure(its.get("/x", accept="*/*", max_bytes=1000))
    assert (error.code, "too long" in error.detail) == ("git_host_failed", True)


async def test_missing_optional_fields_are_none() -> None:
    assert await connected(lambda _request: httpx.Response(404, json={})).find("/x") is None


async def test_queries_are_written_as_hosts_read_them() -> None:
    handler, seen = answers(httpx.Response(200, json={}))
    await connected(handler).get("/x", {"q": "grün & blau", "only": True, "page": 2, "none": None})
    assert dict(seen[0].url.params) == {"q": "grün & blau", "only": "true", "page": "2"}


@pytest.mark.parametrize("answer", [{}, [], None, {"login": "ada"}, {"id": 1, "login": {}}])
async def test_an_answer_of_an_unknown_form_is_a_failure_of_the_host(answer: Any) -> None:
    async def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=answer)

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as http:
        access = HostAccess("https://github.com", "token", http, RateLimits())
        client = careful(github(access), "github.com")
        with pytest.raises(BadGateway) as failed:
            await client.me()
    assert failed.value.code == "git_host_failed"
