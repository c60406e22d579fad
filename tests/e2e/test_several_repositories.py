"""A conversation works on several repositories at several git hosts: each has its own directory and
branch.
"""

from pathlib import Path

from tests.support.github_host import GitHubHost
from tests.support.gitlab_host import GitLabHost
from tests.support.live_trees import files_with
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, conversation, events, start_conversation, wait_for_status

TOKENS = ("canary-token-hub", "canary-token-lab")


def test_each_repository_of_a_conversation_gets_its_pull_request(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    scripted_llm.script(
        call(
            "terminal",
            command="cat README.md ../lamp/README.md ../harbour-2/README.md && cd ../lamp && "
            "git switch -qc light && echo on > lamp.txt && git add -A && git commit -qm Light && "
            "git push -q origin light",
        ),
        call("create_mr", title="Light it", body="", source_branch="light"),
        call("create_pr", title="No", body="", source_branch="light", repository="elsewhere"),
        call(
            "terminal", command="cd ../harbour-2 && echo 5 > depth.txt && cd ../harbour && echo 4 > depth.txt"
        ),
        say("Measured and lit."),
    )
    with (
        GitHubHost(tmp_path / "hub") as hub,
        GitLabHost(tmp_path / "lab") as lab,
        scripted_server.client() as client,
    ):
        for host, token, names in (
            (hub, TOKENS[0], ["team/harbour", "other/harbour"]),
            (lab, TOKENS[1], ["crew/lamp"]),
        ):
            for name in names:
                host.git.make(name)
            host.git.tokens[token] = "write"
            client.post("/settings/git-credentials", json=host.credential).raise_for_status()
        others = [
            {"repository": lab.git.url("crew/lamp")},
            {"repository": hub.git.url("other/harbour"), "branch": "main"},
        ]
        request = {"selected_repository": hub.git.url("team/harbour"), "confirmation_mode": "never"}
        started = start_conversation(client, "Measure and light.", more_repositories=others, **request)
        wait_for_status(client, started, "finished")
        shown = conversation(client, started)["more_repositories"]
        assert [one["directory"] for one in shown] == ["lamp", "harbour-2"]

        route = f"/app-conversations/{started}/pull-requests"
        for which, name in ((None, "team/harbour"), ("harbour-2", "other/harbour")):
            draft = client.get(f"{route}/proposal", params={"repository": which} if which else {}).json()
            assert (draft["repository"], draft["base"], draft["uncommitted_files"]) == (name, "main", 1)
            asked = {key: draft[key] for key in ("title", "body", "head", "base")}
            created = client.post(route, json={**asked, "repository": which})
            assert created.status_code == 201, created.text
        unknown = client.get(f"{route}/proposal", params={"repository": "elsewhere"})
        assert (unknown.status_code, unknown.json()["code"]) == (400, "repository_not_in_conversation")
        pulls = client.get(route).raise_for_status().json()
        log = events(client, started)
    assert {one["repository"] for one in pulls} == {"team/harbour", "other/harbour", "crew/lamp"}
    assert [pull.body["title"] for pull in lab.pulls] == ["Draft: Light it"]
    assert "repository_not_in_conversation" in str(log)
    asked = scripted_llm.requests[0].body
    assert "`../lamp`" in str(asked)
    assert "create_pr" in str(asked["tools"])  # the first repository is at GitHub; create_mr is for GitLab
    assert hub.violations == lab.violations == []
    for token in TOKENS:
        assert token not in str(scripted_llm.requests)
        assert files_with(scripted_server.home, token) == []
