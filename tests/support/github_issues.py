"""Issues and comments of the fake GitHub, and the webhooks that GitHub sends about them."""

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx

from tests.support.host_contract import Answer, Seen
from tests.support.standing_host import LOGIN, Items, OpenIssue

Example = Callable[[str], Any]


def issue_answer(items: Items, example: Example, route: str, seen: Seen) -> Answer | None:
    """Returns the answer to a request about issues or comments, or None if the request is about something
    else.
    """
    number = int(seen.values.get("issue_number") or 0)
    match route, seen.method:
        case "/issues/{issue_number}", "GET" if number in items.open:
            return 200, _issue(example, items.open[number]), {}
        case "/issues/{issue_number}/comments", "GET":
            at = [one for one, (where, *_) in items.comments.items() if where == number]
            return 200, [_comment(items, example, one) for one in at], {}
        case "/issues/{issue_number}/comments", "POST":
            return 201, _comment(items, example, items.say(number, LOGIN, seen.body["body"])), {}
        case "/issues/comments/{comment_id}", "PATCH":
            comment_id = int(seen.values["comment_id"])
            items.edit(comment_id, seen.body["body"])
            return 200, _comment(items, example, comment_id), {}
    return None


def permission(items: Items, path: str) -> bytes:
    """Returns the answer of `…/collaborators/USER/permission`: the permission of this user.

    GitHub's OpenAPI document lacks this route.
    """
    login = path.split("/")[-2]
    return json.dumps({"permission": "write" if login in items.writers else "read"}).encode()


def _issue(example: Example, issue: OpenIssue) -> dict[str, Any]:
    shown = example("issue")
    shown |= {"number": issue.number, "title": issue.title, "body": issue.body, "state": issue.state}
    shown["user"] |= {"login": issue.author}
    shown.pop("pull_request", None)
    return dict(shown)


def _comment(items: Items, example: Example, comment_id: int) -> dict[str, Any]:
    _, author, text = items.comments[comment_id]
    shown = example("issue-comment") | {"id": comment_id, "body": text}
    shown["user"] |= {"login": author}
    return dict(shown)


def issue_event(action: str, number: int, sender: str, repository: str, **more: Any) -> dict[str, Any]:
    """Returns the body of a webhook about an issue. `more`: further fields of the body."""
    return {
        "action": action,
        "repository": {"full_name": repository},
        "sender": {"login": sender, "id": 1},
        "issue": {"number": number, "html_url": f"https://github.com/{repository}/issues/{number}"},
        **more,
    }


def signed(secret: str, event: str, body: dict[str, Any], delivery: str = "") -> dict[str, Any]:
    """Returns the content and signed headers of a GitHub webhook, for `client.post(url, **signed(…))`.

    delivery: the id of the delivery; empty for a new id.
    """
    content = json.dumps(body).encode()
    digest = hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
    headers = {
        "content-type": "application/json",
        "x-github-event": event,
        "x-github-delivery": delivery or str(uuid4()),
        "x-hub-signature-256": f"sha256={digest}",
    }
    return {"content": content, "headers": headers}


def deliver(url: str, secret: str, event: str, body: dict[str, Any], delivery: str = "") -> httpx.Response:
    return httpx.post(url, **signed(secret, event, body, delivery), timeout=30).raise_for_status()
