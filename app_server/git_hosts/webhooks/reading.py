"""Parses a webhook delivery of any git host. Does no I/O. A caller must first verify the delivery with
`signatures.py`.
"""

from collections.abc import Callable

import orjson

from app_server.core.errors import BadRequest
from app_server.git.providers import GitProvider
from app_server.git_hosts.webhooks import (
    azure_devops,
    bitbucket_cloud,
    bitbucket_data_center,
    forgejo,
    github,
    gitlab,
)
from app_server.git_hosts.webhooks.events import Headers, HostEvent, Json
from app_server.http.json_limits import MAX_VALUES, values_in

_Reader = Callable[[str, Json], list[HostEvent]]

_READERS: dict[GitProvider, tuple[_Reader, tuple[str, ...], tuple[str, ...]]] = {
    # The reader, the headers that name the event, and those that name the delivery. The first there counts.
    GitProvider.GITHUB: (github.events, ("x-github-event",), ("x-github-delivery",)),
    GitProvider.GITLAB: (
        gitlab.events,
        ("x-gitlab-event",),
        ("idempotency-key", "webhook-id", "x-gitlab-event-uuid"),
    ),
    GitProvider.BITBUCKET: (bitbucket_cloud.events, ("x-event-key",), ("x-request-uuid",)),
    GitProvider.BITBUCKET_DATA_CENTER: (bitbucket_data_center.events, ("x-event-key",), ("x-request-id",)),
    GitProvider.AZURE_DEVOPS: (azure_devops.events, (), ()),
    GitProvider.FORGEJO: (
        forgejo.events,
        ("x-forgejo-event", "x-gitea-event"),
        ("x-forgejo-delivery", "x-gitea-delivery"),
    ),
}


def read(provider: GitProvider, headers: Headers, body: bytes) -> list[HostEvent]:
    """Parses a webhook delivery and returns its events. One delivery can report several events. Returns an
    empty list if it reports only events that Slipway does not use.

    Raises BadRequest `webhook_not_json` if the content type is not JSON. Raises BadRequest
    `webhook_too_large` if the body contains more than MAX_VALUES JSON values. Raises BadRequest
    `webhook_unreadable` if the body cannot be parsed or has an unexpected form.
    """
    if "json" not in headers.get("content-type", "").lower():
        raise BadRequest(
            "The webhook does not send JSON.",
            code="webhook_not_json",
            fix="Set the webhook's content type to application/json at the git host.",
        )
    if values_in(body) > MAX_VALUES:
        raise BadRequest(f"A webhook must not send more than {MAX_VALUES} values.", code="webhook_too_large")
    reader, event_names, delivery_names = _READERS[provider]
    try:
        found = orjson.loads(body)
        event = _first(headers, event_names) or str(found.get("eventType", ""))
        delivery = _first(headers, delivery_names) or str(found.get("id", ""))
        events = reader(event, found)
        return [one.model_copy(update={"delivery_id": delivery}) for one in events]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadRequest(
            "The webhook sends something that cannot be read.", code="webhook_unreadable"
        ) from error


def _first(headers: Headers, names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")
