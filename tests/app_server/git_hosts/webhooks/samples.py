"""Bodies of webhooks as git hosts send them. A test can change fields."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app_server.git.providers import GitProvider
from app_server.git_hosts.webhooks.events import HostEvent
from app_server.git_hosts.webhooks.reading import read

SAMPLES = Path(__file__).parents[3] / "fixtures" / "git_hosts" / "webhooks"


JSON = {"content-type": "application/json; charset=utf-8"}


Values = dict[str, Any]


ZEROS = "0" * 40


def sample(provider: str, name: str, change: Callable[[Values], Any] | None = None) -> Values:
    body: Values = json.loads((SAMPLES / provider / f"{name}.json").read_text(encoding="utf-8"))
    if change:
        change(body)
    return body


def seen(provider: GitProvider, body: Any, **headers: str) -> list[HostEvent]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read(provider, {**JSON, **named}, json.dumps(body).encode())


def github(name: str, change: Callable[[Values], Any] | None = None) -> list[HostEvent]:
    event = name.partition(".")[0]
    body = sample("github", name, change)
    return seen(GitProvider.GITHUB, body, x_github_event=event, x_github_delivery="d-1")
