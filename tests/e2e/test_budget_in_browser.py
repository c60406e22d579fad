"""A budget as a person meets it: set with the task, seen as it is spent, raised with one click."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, calls, say
from tests.support.server import AppServerProcess

pytestmark = pytest.mark.browser

# Of a model whose price is known: 20 cents a reply.
MODEL = "openai/gpt-4o"


def test_a_task_pauses_at_its_budget_and_goes_on_with_one_click(
    server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.aside = say("A costly task")
    scripted_llm.script(
        *[
            calls(("think", {"thought": thought}), prompt_tokens=80_000, completion_tokens=0)
            for thought in "ab"
        ],
        say("Worth every cent."),
    )
    llm = {"model": MODEL, "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    with server.client() as client, visitor() as someone:
        client.post("/settings/profiles/priced", json={"llm": llm}).raise_for_status()
        someone.sign_in(server)
        page = someone.page
        page.goto(server.url)
        page.get_by_label("Task").fill("Think about it.")
        page.get_by_label("Budget, $").fill("0.3")
        someone.photograph("home-budget")
        page.get_by_role("button", name="Start", exact=True).click()

        expect(page.get_by_text("The budget is used up")).to_be_visible()
        expect(page.get_by_text("$0.40 of $0.30")).to_be_visible()
        expect(page.get_by_text("Paused").first).to_be_visible()
        someone.photograph("budget")
        page.get_by_role("button", name="63% of context").click()
        expect(page.get_by_role("menuitem", name="Condense now")).to_be_visible()
        someone.photograph("context")
        page.keyboard.press("Escape")

        page.get_by_role("button", name="Continue with +$0.30").click()
        expect(page.get_by_text("Worth every cent.")).to_be_visible()
        expect(page.get_by_text("of $0.70")).to_be_visible()
        assert someone.complaints == []
