"""What every refusal must look like."""

import httpx


def assert_problem(reply: httpx.Response, status: int, code: str) -> None:
    """`reply` is a problem document of this status and code, and it names its request."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert (body["status"], body["code"]) == (status, code), body
    assert body["request_id"] == reply.headers["x-request-id"]
    assert body["detail"]
