"""A git host sends a thousand webhooks at once, and the app server is killed: each issue is handled once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from tests.support.github_host import GitHubHost
from tests.support.github_issues import issue_event, signed
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plain_http import NO_TLS
from tests.support.server import AppServerProcess, wait_until
from tests.support.standing_host import LOGIN, OpenIssue

REPOSITORY = "team/harbour"
ISSUES = range(10, 60)
COPIES = 20


def test_a_thousand_deliveries_are_handled_once_over_kill_9(tmp_path: Path) -> None:
    # There is no memory for a sandbox, so conversations are stored but not started.
    small = {"SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES": str(256 * 1024**2)}
    with (
        GitHubHost(tmp_path / "host") as host,
        AppServerProcess(tmp_path / "home", sandbox="process", environment=small) as server,
        server.client() as client,
    ):
        trigger = prepared(host, client)
        refused = send_all(trigger, host, server)
        # Git hosts repeat deliveries that were refused, and sometimes deliveries that were accepted.
        again = [*refused, *(f"delivery-{number}" for number in ISSUES[:10])]
        with httpx.Client(timeout=PATIENCE_SECONDS, verify=NO_TLS) as sender:
            assert {send(sender, trigger, each) for each in again} == {202}

        wait_until(lambda: is_handled(client, trigger), lambda: f"the deliveries:\n{server.output()[-3000:]}")
        found = deliveries(client, trigger)
        assert Counter((one["state"], one["action"]) for one in found) == {("done", "start"): len(ISSUES)}
        assert Counter(titles(client)) == Counter(f"#{each} Issue {each}" for each in ISSUES)
        wait_until(lambda: all(comments(host, each) for each in ISSUES), lambda: "a comment on each issue")
        assert [comments(host, each) for each in ISSUES] == [1] * len(ISSUES)
        assert host.violations == []


def prepared(host: GitHubHost, client: httpx.Client) -> dict[str, Any]:
    host.git.make(REPOSITORY)
    host.git.tokens["t0ken"] = "write"
    host.issues.writers |= {"grace", LOGIN}
    host.issues.open |= {each: OpenIssue(each, f"Issue {each}", "") for each in ISSUES}
    client.post("/settings/git-credentials", json=host.credential).raise_for_status()
    wanted = {"repository": host.git.url(REPOSITORY), "max_running": 100}
    found: dict[str, Any] = client.post("/triggers", json=wanted).raise_for_status().json()
    return found


def send(sender: httpx.Client, trigger: dict[str, Any], name: str) -> int:
    number = int(name.removeprefix("delivery-"))
    body = issue_event("labeled", number, "grace", REPOSITORY, label={"name": "slipway"})
    return sender.post(trigger["url"], **signed(trigger["secret"], "issues", body, name)).status_code


def send_all(trigger: dict[str, Any], host: GitHubHost, server: AppServerProcess) -> list[str]:
    """Sends each delivery COPIES times, kills the server while it handles them, and starts it again.

    Returns the names of the deliveries of which no copy was accepted.
    """
    names = [f"delivery-{number}" for number in ISSUES]
    with httpx.Client(timeout=PATIENCE_SECONDS, verify=NO_TLS) as sender, ThreadPoolExecutor(32) as threads:

        def accepted(name: str) -> str | None:
            try:
                return name if send(sender, trigger, name) == 202 else None
            except httpx.TransportError:
                return None

        replies = [threads.submit(accepted, name) for name in names * COPIES]
        wait_until(lambda: bool(host.issues.comments), lambda: f"a first comment:\n{server.output()[-3000:]}")
        server.kill()
        assert len(host.issues.comments) < len(ISSUES), "the server was killed in the middle"
        known = {reply.result() for reply in replies}
    server.start()
    return [name for name in names if name not in known]


def deliveries(client: httpx.Client, trigger: dict[str, Any]) -> list[dict[str, Any]]:
    page = client.get(f"/triggers/{trigger['id']}/deliveries", params={"limit": 100})
    found: list[dict[str, Any]] = page.raise_for_status().json()["items"]
    return found


def is_handled(client: httpx.Client, trigger: dict[str, Any]) -> bool:
    found = deliveries(client, trigger)
    return len(found) == len(ISSUES) and all(one["state"] != "waiting" for one in found)


def titles(client: httpx.Client) -> list[str]:
    page = client.get("/app-conversations/search", params={"limit": 100}).raise_for_status().json()
    return [one["title"] for one in page["items"]]


def comments(host: GitHubHost, number: int) -> int:
    return len(host.issues.texts(number, LOGIN))
