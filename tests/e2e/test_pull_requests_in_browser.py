"""In the browser: connect a git host, pick a repository, open a pull request, have it corrected."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.github_host import GitHubHost
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess
from tests.support.standing_host import OpenThread

pytestmark = pytest.mark.browser


def test_a_person_connects_a_host_and_follows_a_pull_request(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    scripted_llm.script(
        call("terminal", command="echo 4 > depth.txt"),
        say("The depth is measured now."),
        say("I have looked at the comment."),
    )
    with GitHubHost(tmp_path / "host") as host, visitor() as owner:
        host.git.make("team/harbour")
        host.git.tokens["canary-token-17"] = "write"
        page = owner.page
        owner.sign_in(scripted_server)
        page.goto(f"{scripted_server.url}/settings/git-hosts")
        page.get_by_label("Kind of host").select_option("github")
        page.get_by_label("Host", exact=True).fill(host.git.origin)
        page.get_by_label("Token", exact=True).fill("canary-token-17")
        page.get_by_label("Address of the API").fill(host.api_url)
        page.get_by_role("button", name="Save the token").click()
        expect(page.get_by_text("GitHub · connected as ada")).to_be_visible()
        owner.photograph("git-hosts")

        page.goto(scripted_server.url)
        expect(page.get_by_role("button", name="The lighthouse is dark")).to_be_visible()
        owner.photograph("suggested-tasks")
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
        owner.photograph("create-pull-request")
        dialog.get_by_role("button", name="Create pull request").click()
        expect(page.get_by_role("link", name="Measure the depth of the harbour #1")).to_be_visible()

        host.pulls[0].threads.append(OpenThread("T1", "depth.txt", 1, [("grace", "Is it not 5?")]))
        host.pulls[0].checks |= {"tests": "failure", "lint": "success"}
        page.get_by_role("button", name="Ask the host now").click()
        expect(page.get_by_role("button", name="Fix the failing check")).to_be_visible()
        owner.photograph("pull-request")
        page.get_by_role("button", name="Address 1 comment").click()
        expect(page.get_by_text("I have looked at the comment.")).to_be_visible()
        host.merge(1)
        page.get_by_role("button", name="Ask the host now").click()
        expect(page.get_by_text("Merged", exact=True)).to_be_visible()
        assert host.violations == []
