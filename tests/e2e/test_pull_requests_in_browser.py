"""A user connects a git host in the browser, picks a repository, and opens a pull request, which is
corrected.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import Visitor, visitor
from tests.support.forgejo_host import ForgejoHost
from tests.support.github_host import GitHubHost
from tests.support.gitlab_host import GitLabHost
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, add_model
from tests.support.standing_host import OpenIssue, OpenThread, StandingHost

pytestmark = pytest.mark.browser

HOSTS: list[tuple[type[StandingHost], str]] = [
    (GitHubHost, "GitHub"),
    (GitLabHost, "GitLab"),
    (ForgejoHost, "Forgejo or Gitea"),
]


@pytest.fixture(scope="module")
def llm() -> Iterator[ScriptedLLM]:
    with ScriptedLLM() as llm:
        llm.aside = say("A title")
        yield llm


@pytest.fixture(scope="module")
def app(llm: ScriptedLLM, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServerProcess]:
    """Yields one app server, which the tests of all git hosts share."""
    home = tmp_path_factory.mktemp("hosts") / "home"
    with AppServerProcess(home, sandbox="process") as server:
        with server.client() as client:
            add_model(client, llm.base_url, llm.api_key)
            client.post("/settings/profiles/scripted/activate").raise_for_status()
        yield server


@pytest.mark.parametrize(("kind", "shown"), HOSTS, ids=[host.provider for host, _ in HOSTS])
def test_a_person_connects_a_host_and_follows_a_pull_request(
    app: AppServerProcess, llm: ScriptedLLM, kind: type[StandingHost], shown: str, tmp_path: Path
) -> None:
    llm.script(
        call("terminal", command="echo 4 > depth.txt"),
        say("The depth is measured now."),
        say("I have looked at the comment."),
    )
    with kind(tmp_path / "host") as host, visitor() as owner:
        host.git.make("team/harbour")
        host.git.tokens["canary-token-17"] = "write"
        host.issues.open[4] = OpenIssue(4, "The lighthouse is dark", "Light it.")
        page = owner.page
        owner.sign_in(app)
        connect(owner, app, host, shown)
        page.goto(app.url)
        expect(page.get_by_role("button", name="The lighthouse is dark")).to_be_visible()
        if kind is GitHubHost:
            owner.check_layout("suggested-tasks")
        repository = page.get_by_label("Repository")
        repository.press_sequentially("harb")
        found = page.locator(f'option[value="{host.git.url("team/harbour")}"]')
        expect(found).to_have_attribute("label", "team/harbour")
        repository.fill(host.git.url("team/harbour"))
        expect(page.locator('option[value="main"]')).to_have_count(1)
        page.get_by_label("Task").fill("Measure the depth")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("The depth is measured now.")).to_be_visible()

        page.get_by_role("tab", name="Pull requests").click()
        page.get_by_role("button", name="Create pull request").click()
        dialog = page.get_by_role("dialog", name="Create pull request")
        dialog.get_by_label("Title").fill("Measure the depth of the harbour")
        if kind is GitHubHost:
            owner.check_layout("create-pull-request")
        dialog.get_by_role("button", name="Create pull request").click()
        expect(page.get_by_role("link", name="Measure the depth of the harbour #1")).to_be_visible()

        host.pulls[0].threads.append(OpenThread("T1", "depth.txt", 1, [("grace", "Is it not 5?")]))
        host.pulls[0].checks |= {"tests": "failure", "lint": "success"}
        page.get_by_role("button", name="Ask the host now").click()
        expect(page.get_by_role("button", name="Fix the failing check")).to_be_visible()
        owner.check_layout(f"pull-request-{kind.provider}")
        page.get_by_role("button", name="Address 1 comment").click()
        expect(page.get_by_text("I have looked at the comment.")).to_be_visible()
        host.merge(1)
        page.get_by_role("button", name="Ask the host now").click()
        expect(page.get_by_text("Merged", exact=True)).to_be_visible()
        assert host.violations == []
        with app.client() as client:
            (saved,) = client.get("/settings/git-credentials").raise_for_status().json()
            client.delete(f"/settings/git-credentials/{saved['id']}").raise_for_status()


def connect(owner: Visitor, app: AppServerProcess, host: StandingHost, shown: str) -> None:
    page = owner.page
    page.goto(f"{app.url}/settings/git-hosts")
    page.get_by_label("Kind of host").select_option(host.provider)
    page.get_by_label("Host", exact=True).fill(host.git.origin)
    page.get_by_label("Token", exact=True).fill("canary-token-17")
    page.get_by_label("Address of the API").fill(host.api_url)
    page.get_by_role("button", name="Save the token").click()
    expect(page.get_by_text(f"{shown} · connected as ada")).to_be_visible()
    if host.provider == "github":
        owner.check_layout("git-hosts")
