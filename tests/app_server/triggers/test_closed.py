"""Tests of closed issues and pull requests: each git host reports them, and the conversation about them is
stopped.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sqlalchemy import select

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.git.models import GitCredential, PushScope
from app_server.git.providers import GitProvider
from app_server.triggers.models import Trigger, TriggerDelivery, TriggeredConversation
from app_server.users.models import User
from tests.app_server.conftest import App, http_client
from tests.app_server.eventually import eventually

SECRET = "hook:secret"
ORIGIN = "https://127.0.0.1:1"
"""An origin where no server listens: these deliveries need no call to the git host."""


@dataclass(frozen=True)
class Closing:
    provider: GitProvider
    headers: dict[str, str]
    body: dict[str, Any]
    is_pull_request: bool
    repository: str = "team/harbour"


_SENDER = {"repository": {"full_name": "team/harbour"}, "sender": {"login": "grace", "id": 1}}
_GITLAB = {"project": {"path_with_namespace": "team/harbour"}, "user": {"username": "grace", "id": 1}}
_BITBUCKET = {
    "repository": {"full_name": "team/harbour"},
    "actor": {"nickname": "grace", "uuid": "{g}"},
    "pullrequest": {"id": 4},
}
_DATA_CENTER = {
    "actor": {"name": "grace", "id": 1},
    "pullRequest": {"id": 4, "toRef": {"repository": {"slug": "harbour", "project": {"key": "team"}}}},
}
_AZURE_PULL = {
    "pullRequestId": 4,
    "createdBy": {"uniqueName": "grace"},
    "repository": {"remoteUrl": "https://dev.azure.com/org/team/_git/harbour"},
}
_AZURE_ITEM = {
    "workItemId": 4,
    "url": "https://dev.azure.com/org/_apis/wit/workItems/4/updates/2",
    "revisedBy": {"uniqueName": "grace"},
    "revision": {"fields": {"System.TeamProject": "team"}},
    "fields": {"System.State": {"oldValue": "Active", "newValue": "Closed"}},
}


def _github(is_pull: bool, **more: Any) -> Closing:
    name = "pull_request" if is_pull else "issues"
    item = {"pull_request" if is_pull else "issue": {"number": 4, **more}}
    return Closing(
        GitProvider.GITHUB, {"x-github-event": name}, {"action": "closed", **_SENDER, **item}, is_pull
    )


def _gitlab(kind: str, action: str) -> Closing:
    body = {"object_kind": kind, **_GITLAB, "object_attributes": {"iid": 4, "action": action}}
    return Closing(GitProvider.GITLAB, {"x-gitlab-event": "x"}, body, kind == "merge_request")


def _forgejo(is_pull: bool, **more: Any) -> Closing:
    item = {"pull_request" if is_pull else "issue": {"number": 4, **more}}
    name = "pull_request" if is_pull else "issues"
    return Closing(
        GitProvider.FORGEJO, {"x-forgejo-event": name}, {"action": "closed", **_SENDER, **item}, is_pull
    )


def _azure(event: str, resource: dict[str, Any], is_pull: bool) -> Closing:
    body = {"id": "d-1", "eventType": event, "resource": resource}
    return Closing(GitProvider.AZURE_DEVOPS, {}, body, is_pull, "org/team/harbour")


CLOSINGS = {
    "GitHub issue": _github(False),
    "GitHub pull request": _github(True, merged=False),
    "GitHub merge": _github(True, merged=True),
    "GitLab issue": _gitlab("issue", "close"),
    "GitLab merge request": _gitlab("merge_request", "close"),
    "GitLab merge": _gitlab("merge_request", "merge"),
    "Forgejo issue": _forgejo(False),
    "Forgejo pull request": _forgejo(True, merged=False),
    "Forgejo merge": _forgejo(True, merged=True),
    "Bitbucket Cloud pull request": Closing(
        GitProvider.BITBUCKET, {"x-event-key": "pullrequest:rejected"}, _BITBUCKET, True
    ),
    "Bitbucket Cloud merge": Closing(
        GitProvider.BITBUCKET, {"x-event-key": "pullrequest:fulfilled"}, _BITBUCKET, True
    ),
    "Bitbucket Data Center pull request": Closing(
        GitProvider.BITBUCKET_DATA_CENTER, {"x-event-key": "pr:declined"}, _DATA_CENTER, True
    ),
    "Bitbucket Data Center merge": Closing(
        GitProvider.BITBUCKET_DATA_CENTER, {"x-event-key": "pr:merged"}, _DATA_CENTER, True
    ),
    "Azure DevOps work item": _azure("workitem.updated", _AZURE_ITEM, False),
    "Azure DevOps pull request": _azure(
        "git.pullrequest.updated", {**_AZURE_PULL, "status": "abandoned"}, True
    ),
    "Azure DevOps merge": _azure("git.pullrequest.updated", {**_AZURE_PULL, "status": "completed"}, True),
}


async def test_each_host_stops_the_conversation_of_what_it_closes(app: App, owner: User) -> None:
    begun = {name: await _begun(app, owner, closing) for name, closing in CLOSINGS.items()}
    async with http_client(app.public) as anonymous:
        for name, closing in CLOSINGS.items():
            content = json.dumps(closing.body).encode()
            path = f"/api/v1/git-webhooks/{begun[name].id}"
            reply = await anonymous.post(path, content=content, headers=_signed(closing, content))
            assert reply.status_code == 202, (name, reply.text)

    async def all_handled() -> bool:
        async with app.database.read() as session:
            states = await session.scalars(select(TriggerDelivery.state))
            return [str(one) for one in states] == ["done"] * len(CLOSINGS)

    await eventually(all_handled)
    async with app.database.read() as session:
        links = {one.trigger_id: one for one in await session.scalars(select(TriggeredConversation))}
        actions = set(await session.scalars(select(TriggerDelivery.action)))
    assert {name for name, trigger in begun.items() if not links[trigger.id].is_stopped} == set()
    assert actions == {"pause"}


async def _begun(app: App, owner: User, closing: Closing) -> Trigger:
    """Stores a trigger that has started a conversation about issue or pull request 4. Returns the trigger."""
    id_, origin = uuid4(), f"{ORIGIN}/{uuid4().hex}"
    trigger = Trigger(
        user_id=owner.id,
        provider=closing.provider,
        origin=origin,
        repository=closing.repository,
        clone_url=f"{origin}/{closing.repository}",
        events=["label"],
        secret_encrypted=app.state["cipher"].encrypt(SECRET),
    )
    async with app.database.session() as session:
        session.add_all(
            (
                trigger,
                GitCredential(
                    user_id=owner.id,
                    origin=origin,
                    provider=closing.provider,
                    token_encrypted=app.state["cipher"].encrypt("t0ken"),
                    push_scope=PushScope.OWN,
                ),
                Conversation(
                    id=id_, user_id=owner.id, sandbox_id=id_, llm_profile="demo", execution_status="finished"
                ),
                StartTask(
                    id=id_, user_id=owner.id, status=StartStatus.READY, request={}, stages=new_stages()
                ),
            )
        )
        await session.flush()
        session.add(
            TriggeredConversation(
                conversation_id=id_,
                trigger_id=trigger.id,
                is_pull_request=closing.is_pull_request,
                number=4,
            )
        )
    return trigger


def _signed(closing: Closing, content: bytes) -> dict[str, str]:
    digest = hmac.new(SECRET.encode(), content, hashlib.sha256).hexdigest()
    return {
        "content-type": "application/json",
        "x-hub-signature-256": f"sha256={digest}",
        "x-hub-signature": f"sha256={digest}",
        "x-forgejo-signature": digest,
        "x-gitlab-token": SECRET,
        "authorization": f"Basic {base64.b64encode(SECRET.encode()).decode()}",
        **closing.headers,
    }
