"""The webhooks that git hosts send, as their documentation describes them.

    hooks = WEBHOOKS["gitlab"]("team/harbour")
    hooks.labelled(4, "grace", "slipway").send(trigger["url"], trigger["secret"])

Each class has the same methods. A webhook of Forgejo about a review lacks the comments on lines, and one
about a failed status lacks the branch.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

import httpx

from tests.support.github_issues import issue_event, signed
from tests.support.plain_http import NO_TLS
from tests.support.standing_host import OpenPull, OpenThread

Json = dict[str, Any]


@dataclass(frozen=True)
class Delivery:
    """One webhook delivery. `id`: the delivery id of the git host; a repeated delivery has the same id."""

    provider: str
    event: str
    body: Json
    id: str = field(default_factory=lambda: str(uuid4()))

    def send(self, url: str, secret: str) -> httpx.Response:
        if self.provider == "github":
            given = signed(secret, self.event, self.body, self.id)
        else:
            content = json.dumps(self.body).encode()
            given = {"content": content, "headers": self._headers(secret, content)}
        return httpx.post(url, **given, timeout=30, verify=NO_TLS)

    def _headers(self, secret: str, content: bytes) -> dict[str, str]:
        if self.provider == "gitlab":
            own = {"x-gitlab-event": self.event, "x-gitlab-token": secret, "idempotency-key": self.id}
        else:
            digest = hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
            own = {
                "x-forgejo-event": self.event,
                "x-forgejo-delivery": self.id,
                "x-forgejo-signature": digest,
            }
        return {"content-type": "application/json", **own}


class HostWebhooks(Protocol):
    def labelled(self, number: int, sender: str, label: str) -> Delivery: ...

    def closed(self, number: int, sender: str) -> Delivery: ...

    def mentioned(self, number: int, comment_id: int, sender: str, text: str) -> Delivery: ...

    def reviewed(self, pull: OpenPull, thread: OpenThread, sender: str) -> Delivery: ...

    def failed(self, branch: str, commit: str) -> Delivery: ...


@dataclass(frozen=True)
class GitHubWebhooks:
    name: str

    def labelled(self, number: int, sender: str, label: str) -> Delivery:
        return self._of_issue("labeled", number, sender, label={"name": label})

    def closed(self, number: int, sender: str) -> Delivery:
        return self._of_issue("closed", number, sender)

    def mentioned(self, number: int, comment_id: int, sender: str, text: str) -> Delivery:
        comment = {"id": comment_id, "body": text}
        body = issue_event("created", number, sender, self.name, comment=comment)
        return Delivery("github", "issue_comment", body)

    def reviewed(self, pull: OpenPull, thread: OpenThread, sender: str) -> Delivery:
        body = {
            **self._common(sender),
            "action": "created",
            "pull_request": {"number": pull.number, "html_url": "https://example.org"},
            "comment": {"id": len(thread.comments), "body": thread.comments[-1][1]},
        }
        return Delivery("github", "pull_request_review_comment", body)

    def failed(self, branch: str, commit: str) -> Delivery:
        suite = {"conclusion": "failure", "head_branch": branch, "head_sha": commit, "pull_requests": []}
        body = {**self._common("github-actions"), "action": "completed", "check_suite": suite}
        return Delivery("github", "check_suite", body)

    def _of_issue(self, action: str, number: int, sender: str, **more: Any) -> Delivery:
        return Delivery("github", "issues", issue_event(action, number, sender, self.name, **more))

    def _common(self, sender: str) -> Json:
        return {"repository": {"full_name": self.name}, "sender": {"login": sender, "id": 1}}


@dataclass(frozen=True)
class GitLabWebhooks:
    name: str

    def labelled(self, number: int, sender: str, label: str) -> Delivery:
        changes = {"labels": {"previous": [], "current": [{"id": 1, "title": label}]}}
        return self._of_issue("update", number, sender, changes=changes)

    def closed(self, number: int, sender: str) -> Delivery:
        return self._of_issue("close", number, sender)

    def mentioned(self, number: int, comment_id: int, sender: str, text: str) -> Delivery:
        note = {"id": comment_id, "note": text, "noteable_type": "Issue", "action": "create"}
        body = {**self._common("note", sender), "object_attributes": note, "issue": {"iid": number}}
        return Delivery("gitlab", "Note Hook", body)

    def reviewed(self, pull: OpenPull, thread: OpenThread, sender: str) -> Delivery:
        note = {
            "id": 5000 + len(thread.comments),
            "note": thread.comments[-1][1],
            "noteable_type": "MergeRequest",
            "discussion_id": thread.id,
            "position": {"new_path": thread.path, "new_line": thread.line},
            "action": "create",
        }
        merge_request = {"iid": pull.number}
        body = {
            **self._common("note", sender),
            "object_attributes": note,
            "merge_request": merge_request,
        }
        return Delivery("gitlab", "Note Hook", body)

    def failed(self, branch: str, commit: str) -> Delivery:
        pipeline = {"id": 1, "ref": branch, "sha": commit, "status": "failed", "source": "push"}
        body = {**self._common("pipeline", "ada"), "object_attributes": pipeline, "merge_request": None}
        return Delivery("gitlab", "Pipeline Hook", body)

    def _of_issue(self, action: str, number: int, sender: str, **more: Any) -> Delivery:
        item = {"id": 300 + number, "iid": number, "action": action, "url": "https://example.org"}
        return Delivery(
            "gitlab", "Issue Hook", {**self._common("issue", sender), "object_attributes": item, **more}
        )

    def _common(self, kind: str, sender: str) -> Json:
        return {
            "object_kind": kind,
            "user": {"id": 1, "username": sender},
            "project": {"id": 1, "path_with_namespace": self.name},
        }


@dataclass(frozen=True)
class ForgejoWebhooks:
    name: str

    def labelled(self, number: int, sender: str, label: str) -> Delivery:
        issue = {"number": number, "labels": [{"id": 1, "name": label}]}
        body = {**self._common(sender), "action": "label_updated", "number": number, "issue": issue}
        return Delivery("forgejo", "issues", body)

    def closed(self, number: int, sender: str) -> Delivery:
        body = {**self._common(sender), "action": "closed", "number": number, "issue": {"number": number}}
        return Delivery("forgejo", "issues", body)

    def mentioned(self, number: int, comment_id: int, sender: str, text: str) -> Delivery:
        body = {
            **self._common(sender),
            "action": "created",
            "issue": {"number": number, "pull_request": None},
            "comment": {"id": comment_id, "body": text},
            "is_pull": False,
        }
        return Delivery("forgejo", "issue_comment", body)

    def reviewed(self, pull: OpenPull, thread: OpenThread, sender: str) -> Delivery:
        body = {
            **self._common(sender),
            "action": "reviewed",
            "number": pull.number,
            "pull_request": {"number": pull.number, "html_url": "https://example.org"},
            "review": {"type": "pull_request_review_comment", "content": ""},
        }
        return Delivery("forgejo", "pull_request_comment", body)

    def failed(self, branch: str, commit: str) -> Delivery:
        body = {
            **self._common("ci"),
            "sha": commit,
            "state": "failure",
            "context": "tests",
            "target_url": "",
        }
        return Delivery("forgejo", "status", body)

    def _common(self, sender: str) -> Json:
        return {"repository": {"full_name": self.name}, "sender": {"login": sender, "id": 1}}


WEBHOOKS = {"github": GitHubWebhooks, "gitlab": GitLabWebhooks, "forgejo": ForgejoWebhooks}
