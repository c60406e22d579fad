"""Issues and comments of the stand-in for GitHub, and the webhooks that it sends about them."""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from tests.support.host_contract import Answer, Seen

Example = Callable[[str], Any]


@dataclass
class OpenIssue:
    number: int
    title: str
    body: str
    author: str = "grace"
    state: str = "open"


@dataclass
class Issues:
    """`writers`: who may push. `comments`: by id, the number of the item, the author and the text. `edits`:
    how many times a comment was edited.
    """

    example: Example
    login: str
    open: dict[int, OpenIssue] = field(default_factory=dict)
    writers: set[str] = field(default_factory=set)
    comments: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    edits: int = 0

    def say(self, number: int, author: str, text: str) -> int:
        comment_id = len(self.comments) + 1000
        self.comments[comment_id] = (number, author, text)
        return comment_id

    def texts(self, number: int, author: str) -> list[str]:
        return [text for at, who, text in self.comments.values() if (at, who) == (number, author)]

    def respond(self, route: str, seen: Seen) -> Answer | None:
        number = int(seen.values.get("issue_number") or 0)
        match route, seen.method:
            case "/issues/{issue_number}", "GET" if number in self.open:
                return 200, self._issue(self.open[number]), {}
            case "/issues/{issue_number}/comments", "GET":
                return (
                    200,
                    [self._comment(one) for one, (at, *_) in self.comments.items() if at == number],
                    {},
                )
            case "/issues/{issue_number}/comments", "POST":
                return 201, self._comment(self.say(number, self.login, seen.body["body"])), {}
            case "/issues/comments/{comment_id}", "PATCH":
                comment_id = int(seen.values["comment_id"])
                at, author, _ = self.comments[comment_id]
                self.comments[comment_id], self.edits = (at, author, seen.body["body"]), self.edits + 1
                return 200, self._comment(comment_id), {}
        return None

    def permission(self, path: str) -> bytes:
        """What the user of `…/collaborators/USER/permission` may do. The document lacks this route."""
        login = path.split("/")[-2]
        return json.dumps({"permission": "write" if login in self.writers else "read"}).encode()

    def _issue(self, issue: OpenIssue) -> dict[str, Any]:
        shown = self.example("issue")
        shown |= {"number": issue.number, "title": issue.title, "body": issue.body, "state": issue.state}
        shown["user"] |= {"login": issue.author}
        shown.pop("pull_request", None)
        return dict(shown)

    def _comment(self, comment_id: int) -> dict[str, Any]:
        _, author, text = self.comments[comment_id]
        shown = self.example("issue-comment") | {"id": comment_id, "body": text}
        shown["user"] |= {"login": author}
        return dict(shown)


def issue_event(action: str, number: int, sender: str, repository: str, **more: Any) -> dict[str, Any]:
    """The body of a webhook about an issue."""
    return {
        "action": action,
        "repository": {"full_name": repository},
        "sender": {"login": sender, "id": 1},
        "issue": {"number": number, "html_url": f"https://github.com/{repository}/issues/{number}"},
        **more,
    }


def signed(secret: str, event: str, body: dict[str, Any], delivery: str = "") -> dict[str, Any]:
    """What a client of httpx sends as GitHub would: `client.post(url, **signed(…))`."""
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
