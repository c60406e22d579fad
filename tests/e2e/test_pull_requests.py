"""A task becomes a merged pull request: real git repositories, a checked fake of GitHub's API, a scripted
model.
"""

from pathlib import Path
from typing import Any

import httpx

from tests.support.github_host import GitHubHost
from tests.support.live_trees import files_with
from tests.support.scripted_llm import ScriptedLLM, call, hold, say
from tests.support.server import AppServerProcess, events, start_conversation, wait_for_status
from tests.support.standing_host import OpenIssue, OpenThread

CANARY = "canary-token-91aa"


def test_a_task_becomes_a_pull_request_that_is_reviewed_and_merged(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    scripted_llm.script(
        call("terminal", command="echo 4 > depth.txt && git branch taken"),
        say("The depth is measured now."),
        call("terminal", command="echo 5 > depth.txt && git commit -qam 'Measure again' && git push -q"),
        say("Addressed."),
    )
    with GitHubHost(tmp_path / "host") as host, scripted_server.client() as client:
        conversation = finished_task(client, host)
        pull = opened(client, host, conversation)
        route = f"/app-conversations/{conversation}/pull-requests/{pull['id']}"

        host.pulls[0].threads.append(OpenThread("T1", "depth.txt", 1, [("grace", "Is it not 5?")]))
        host.pulls[0].checks["tests"] = "failure"
        page = posted(client, f"{route}/refresh")
        assert (page["unresolved_threads"], page["checks"][0]["state"]) == (1, "failed")
        assert posted(client, f"{route}/address-review")["count"] == 1
        scripted_llm.wait_for_request(4)
        wait_for_status(client, conversation, "finished")
        assert posted(client, f"{route}/refresh")["is_review_being_addressed"] is False
        assert host.pulls[0].threads[0].comments[-1][1].startswith("Addressed in the commits up to")

        host.pulls[0].checks["tests"] = "success"
        host.merge(1)
        page = posted(client, f"{route}/refresh")
        assert (page["state"], page["checks"][0]["state"]) == ("merged", "passed")
        host.revoked = True
        assert posted(client, f"{route}/refresh")["problem"].endswith("refuses the token.")
        assert host.violations == []
    assert "Is it not 5?" in str(scripted_llm.requests)
    assert CANARY not in str(scripted_llm.requests)
    assert CANARY not in scripted_server.output()
    assert files_with(scripted_server.home, CANARY) == []


def test_a_second_request_to_address_a_review_keeps_the_replies_of_the_first(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    still_at_work = hold(say("The first one is addressed."))
    scripted_llm.script(
        call("terminal", command="echo 4 > depth.txt && git branch taken"),
        say("The depth is measured now."),
        call("terminal", command="echo 5 > depth.txt && git commit -qam 'Measure again' && git push -q"),
        still_at_work,
        call("terminal", command="echo 6 > depth.txt && git commit -qam 'And again' && git push -q"),
        say("Both are addressed."),
    )
    with GitHubHost(tmp_path / "host") as host, scripted_server.client() as client:
        conversation = finished_task(client, host)
        pull = opened(client, host, conversation)
        route = f"/app-conversations/{conversation}/pull-requests/{pull['id']}"
        first = OpenThread("T1", "depth.txt", 1, [("grace", "Is it not 5?")])
        second = OpenThread("T2", "depth.txt", 1, [("grace", "Or 6?")])

        host.pulls[0].threads.append(first)
        assert posted(client, f"{route}/address-review")["count"] == 1
        scripted_llm.wait_for_request(4)  # the first commit is pushed
        host.pulls[0].threads.append(second)
        assert posted(client, f"{route}/address-review")["count"] == 2
        assert [len(thread.comments) for thread in (first, second)] == [2, 1]
        assert first.comments[-1][1].startswith("Addressed in the commits up to")
        still_at_work.release()
        scripted_llm.wait_for_request(6)
        assert posted(client, f"{route}/refresh")["is_review_being_addressed"] is False
        assert [len(thread.comments) for thread in (first, second)] == [3, 2]
        assert second.comments[-1][1].startswith("Addressed in the commits up to")
        assert host.violations == []


def finished_task(client: httpx.Client, host: GitHubHost) -> str:
    """Connects the git host and lets the agent do a task in its repository. Returns the conversation's id."""
    host.git.make("team/harbour", PULL_REQUEST_TEMPLATE=b"## Why\n\n## Tests\n")
    host.git.tokens[CANARY] = "write"
    client.post("/settings/git-credentials", json=host.credential).raise_for_status()
    conversation = start_conversation(
        client, "Measure it.", selected_repository=found_by_typing(client), git_provider="github"
    )
    wait_for_status(client, conversation, "finished")
    return conversation


def found_by_typing(client: httpx.Client) -> str:
    """Returns the clone URL of the repository, found with the searches that the repository picker uses."""
    found = client.get("/git/repositories/search", params={"provider": "github", "query": "harb"})
    (repository,) = found.raise_for_status().json()["items"]
    assert (repository["full_name"], repository["main_branch"]) == ("team/harbour", "main")
    words = {"provider": "github", "repository": "team/harbour", "query": "mai"}
    (branch,) = client.get("/git/branches/search", params=words).raise_for_status().json()["items"]
    assert (branch["name"], branch["protected"]) == ("main", True)
    (task,) = client.get("/git/suggested-tasks/search").raise_for_status().json()["items"]
    assert (task["task_type"], task["issue_number"]) == ("OPEN_ISSUE", 4)
    return str(repository["clone_url"])


def opened(client: httpx.Client, host: GitHubHost, conversation: str) -> dict[str, Any]:
    """Opens the pull request from the proposal for the conversation, and returns it.

    Opens it a second time, too, which must return the same pull request.
    """
    route = f"/app-conversations/{conversation}/pull-requests"
    draft = client.get(f"{route}/proposal").raise_for_status().json()
    assert (draft["base"], draft["uncommitted_files"], draft["is_pushed"]) == ("main", 1, False)
    assert draft["body"].startswith("## Why\n\n## Tests\n\nThe depth is measured now.")
    assert conversation in draft["body"]

    refused = client.post(route, json={"title": "Measure", "head": "main", "base": "main"})
    assert (refused.status_code, refused.json()["code"]) == (400, "same_branch")
    asked = {name: draft[name] for name in ("title", "body", "head", "base")}
    # The existing branch does not contain the work.
    taken = client.post(route, json={**asked, "head": "taken"})
    assert (taken.status_code, taken.json()["code"]) == (409, "git_failed")
    assert host.git.branches("team/harbour").keys() == {"refs/heads/main"}
    created = client.post(route, json={**asked, "labels": ["depth"], "reviewers": ["grace"]})
    assert created.status_code == 201, (created.text, host.violations)
    pull: dict[str, Any] = created.json()["pull_request"]
    assert (pull["number"], pull["state"], pull["is_draft"]) == (1, "open", True)
    assert (host.pulls[0].labels, host.pulls[0].reviewers) == (["depth"], ["grace"])
    assert f"refs/heads/{draft['head']}" in host.git.branches("team/harbour")
    again = posted(client, route, asked)
    assert (again["is_new"], again["pull_request"]["id"]) == (False, pull["id"])
    (shown,) = client.get(f"/app-conversations?ids={conversation}").raise_for_status().json()
    assert shown["pr_number"] == [1]
    return pull


def posted(client: httpx.Client, route: str, body: Any = None) -> Any:
    return client.post(route, json=body).raise_for_status().json()


def test_the_agent_opens_a_pull_request_with_its_own_tool(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    scripted_llm.script(
        call(
            "terminal",
            command="git switch -qc depth && echo 4 > depth.txt && git add -A && git commit -qm Depth"
            " && git push -q origin depth",
        ),
        call("create_pr", title="Measure the depth", body="It is 4.", source_branch="depth"),
        call("get_pull_request_feedback", number=1),
        call("get_issue", number=4),
        call("comment_on_issue", number=4, body="It is 4, @grace."),
        call("create_pr", title="Again", body="", source_branch="never-pushed"),
        say("Opened."),
    )
    with GitHubHost(tmp_path / "host") as host, scripted_server.client() as client:
        host.git.make("team/harbour")
        host.issues.open[4] = OpenIssue(4, "The depth is missing", "How deep is it?")
        host.git.tokens[CANARY] = "write"
        client.post("/settings/git-credentials", json=host.credential).raise_for_status()
        options = {"selected_repository": host.git.url("team/harbour"), "confirmation_mode": "never"}
        started = start_conversation(client, "Measure.", **options)
        wait_for_status(client, started, "finished")
        (pull,) = client.get(f"/app-conversations/{started}/pull-requests").raise_for_status().json()
        log = events(client, started)
        entries = client.get("/audit-log", params={"action": "pull_request.opened"}).json()["items"]
    assert (pull["title"], pull["head"], pull["base"]) == ("Measure the depth", "depth", "main")
    assert host.pulls[0].body["body"].startswith("It is 4.\n\n[The conversation")
    answers = [str(event["observation"]["content"]) for event in log if event["kind"] == "ObservationEvent"]
    assert "git_host_refused" in answers[-1], "a branch that was not pushed"
    assert "The depth is missing" in answers[3]
    [(at, _, said)] = host.issues.comments.values()
    assert (at, said.splitlines()[0]) == (4, "It is 4, @\u200bgrace.")
    assert len(entries) == 1
    assert host.violations == []
    assert CANARY not in str(log)
