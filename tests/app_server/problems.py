"""A check of error replies: each is a problem document (RFC 9457)."""

import httpx


def assert_problem(reply: httpx.Response, status: int, code: str) -> None:
    """Checks that `reply` is a problem document with this status and this `code`, and that it contains the
    id of its request.
    """
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert (body["status"], body["code"]) == (status, code), body
    assert body["request_id"] == reply.headers["x-request-id"]
    assert body["detail"]
