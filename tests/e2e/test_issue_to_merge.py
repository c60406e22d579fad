"""An issue becomes a merged pull request on each kind of git host: real git repositories, a checked
fake API.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.forgejo_host import ForgejoHost
from tests.support.github_host import GitHubHost
from tests.support.gitlab_host import GitLabHost
from tests.support.host_webhooks import WEBHOOKS, Delivery
from tests.support.live_trees import files_with
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, add_model, wait_until
from tests.support.standing_host import LOGIN, OpenIssue, OpenThread, StandingHost
from tests.support.trigger_calls import deliveries, until_said

REPOSITORY = "team/harbour"
HOSTS: list[type[StandingHost]] = [GitHubHost, GitLabHost, ForgejoHost]
TEST = "test $(cat depth.txt) -gt 3 && echo 1 passed"


@dataclass
class Place:
    server: AppServerProcess
    llm: ScriptedLLM
    client: httpx.Client


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Yields one app server, which the tests of all git hosts share."""
    home = tmp_path_factory.mktemp("merge") / "home"
    with ScriptedLLM() as llm, AppServerProcess(home, sandbox="process") as server, server.client() as client:
        llm.aside = say("A title")
        add_model(client, llm.base_url, llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
        client.put("/settings/confirmation", json={"mode": "never"}).raise_for_status()
        yield Place(server, llm, client)


@pytest.mark.parametrize("kind", HOSTS, ids=[host.provider for host in HOSTS])
def test_an_issue_becomes_a_merged_pull_request(
    place: Place, kind: type[StandingHost], tmp_path: Path
) -> None:
    token, client = f"canary-token-{kind.provider}", place.client
    place.llm.script(
        call("terminal", command=f"echo 4 > depth.txt && {TEST} && git add -A && git commit -qm Measure"),
        # The first push, to main, must be refused. The second push is the branch of the pull request.
        call("terminal", command="git push origin HEAD:main; git switch -qc depth; git push -u origin depth"),
        say("The depth is 4 now."),
        call("terminal", command=f"echo 5 > depth.txt && {TEST} && git commit -qam Five"),
        say("It is 5."),
        call("terminal", command=f"echo 6 > depth.txt && {TEST} && git commit -qam Six"),
        say("The check passes with 6."),
    )
    with kind(tmp_path / "host") as host:
        host.git.make(REPOSITORY)
        host.git.tokens[token] = "write"
        host.issues.open[4] = OpenIssue(4, "The lighthouse is dark", "Light it.")
        host.issues.writers |= {"grace", LOGIN}
        client.post("/settings/git-credentials", json=host.credential).raise_for_status()
        trigger = posted(client, "/triggers", {"repository": host.git.url(REPOSITORY)})
        hooks = WEBHOOKS[kind.provider](REPOSITORY)

        def deliver(delivery: Delivery) -> None:
            delivery.send(trigger["url"], trigger["secret"]).raise_for_status()

        forged = hooks.labelled(4, "grace", "slipway").send(trigger["url"], "guessed")
        assert forged.status_code == 401
        deliver(hooks.labelled(4, "mallory", "slipway"))
        deliver(hooks.labelled(4, "grace", "slipway"))
        until_said(host, "Slipway has finished: ")
        (pull,) = host.pulls
        assert (host.branch_of(pull), host.target_of(pull)) == ("depth", "main")
        assert host.heads(REPOSITORY)["main"] != host.commit_of(pull)
        assert "1 passed" in str(place.llm.requests[-1].body)

        thread = OpenThread("T1", "depth.txt", 1, [("grace", "Is it not 5?")])
        pull.threads.append(thread)
        deliver(hooks.reviewed(pull, thread, "grace"))
        until_said(host, "It is 5.")
        wait_until(lambda: len(said_in(pull.threads)) == 2, lambda: f"an answer: {pull.threads}")
        assert said_in(pull.threads)[1][1].startswith("Addressed in the commits up to ")
        assert "Is it not 5?" in str(place.llm.requests[-1].body)
        deliver(hooks.reviewed(pull, pull.threads[-1], LOGIN))

        pull.checks["tests"] = "failure"
        deliver(hooks.failed("depth", host.commit_of(pull)))
        until_said(host, "The check passes with 6.")
        pull.checks["tests"] = "success"
        route, shown = shown_pull(client)
        assert shown["checks"][0]["state"] == "passed"

        host.merge(1)
        shown = posted(client, f"{route}/refresh")
        assert (shown["state"], shown["problem"]) == ("merged", None)
        assert set(host.heads(REPOSITORY)) == {"main"}
        deliver(hooks.closed(4, "grace"))
        assert f"[{shown['title']}]({shown['url']})" in until_said(host, "because this was closed")
        assert len(host.issues.texts(4, LOGIN)) == 1, "one comment, which is edited"
        results = [(one["action"], one["state"]) for one in deliveries(client, trigger)[::-1]]
        assert results == [
            (None, "ignored"),
            ("start", "done"),
            ("tell", "done"),
            (None, "ignored"),
            ("fix_checks", "done"),
            ("pause", "done"),
        ]
        assert host.violations == []
        client.delete(f"/triggers/{trigger['id']}").raise_for_status()
        client.delete(route.rpartition("/pull-requests")[0]).raise_for_status()
    assert "this branch was not made by this conversation" in str(place.llm.requests), "the agent is told why"
    assert token not in str(place.llm.requests)
    assert files_with(place.server.home, token) == []


def shown_pull(client: httpx.Client) -> tuple[str, dict[str, Any]]:
    """Refreshes the only pull request of the newest conversation. Returns its route and its new state."""
    (found, *_) = client.get("/app-conversations/search").raise_for_status().json()["items"]
    pulls = f"/app-conversations/{found['id']}/pull-requests"
    (pull,) = client.get(pulls).raise_for_status().json()
    route = f"{pulls}/{pull['id']}"
    return route, posted(client, f"{route}/refresh")


def said_in(threads: list[OpenThread]) -> list[tuple[str, str]]:
    """Returns the comments of all threads. Forgejo shows comments of several reviews on one line as one
    thread.
    """
    return [said for thread in threads for said in thread.comments]


def posted(client: httpx.Client, route: str, body: Any = None) -> Any:
    return client.post(route, json=body).raise_for_status().json()
