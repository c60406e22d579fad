"""A user sets budgets and spending limits in the browser, sees them used up, and raises them with
one click.
"""

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, calls, hang, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser

# A model whose price is known: a reply costs 20 cents.
MODEL = "openai/gpt-4o"


def test_a_task_pauses_at_its_budget_and_goes_on_with_one_click(
    server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.aside = say("A costly task")
    scripted_llm.script(
        *[
            calls(
                ("think", {"thought": thought}),
                prompt_tokens=80_000,
                cached_tokens=cached,
                completion_tokens=0,
            )
            for thought, cached in (("a", 0), ("b", 79_000))
        ],
        say("Worth every cent.", prompt_tokens=80_000, cached_tokens=0),
    )
    llm = {"model": MODEL, "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    with server.client() as client, visitor() as someone:
        client.post("/settings/profiles/priced", json={"llm": llm}).raise_for_status()
        someone.sign_in(server)
        page = someone.page
        page.goto(server.url)
        page.get_by_label("Task").fill("Think about it.")
        page.get_by_label("Budget, $").fill("0.3")
        someone.check_layout("home-budget")
        page.get_by_role("button", name="Start", exact=True).click()

        expect(page.get_by_text("The budget is used up")).to_be_visible()
        expect(page.get_by_text("$0.30 of $0.30")).to_be_visible()
        expect(page.get_by_text("Paused").first).to_be_visible()
        someone.check_layout("budget")
        expect(page.get_by_role("button", name="49% cached")).to_be_visible()
        page.get_by_role("button", name="63% of context").click()
        expect(page.get_by_role("menuitem", name="Condense now")).to_be_visible()
        someone.check_layout("context")
        page.keyboard.press("Escape")

        page.get_by_role("button", name="Continue with +$0.30").click()
        expect(page.get_by_text("Worth every cent.")).to_be_visible()
        expect(page.get_by_text("of $0.60")).to_be_visible()
        page.get_by_role("button", name="32% cached").click()
        expect(page.get_by_text("The log shows no cause.")).to_be_visible()
        someone.check_layout("prompt-cache")
        assert someone.complaints == []


def test_a_user_sets_a_limit_meets_it_in_a_conversation_and_goes_on(
    server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.aside = say("A costly task")
    scripted_llm.script(
        calls(("think", {"thought": "a"}), prompt_tokens=100_000, completion_tokens=0),
        say("Worth every cent."),
    )
    with server.client() as client, visitor() as someone:
        someone.sign_in(server)
        page = someone.page
        page.goto(f"{server.url}/settings/models")
        page.get_by_role("button", name="Add a model").click()
        page.get_by_label("Name", exact=True).fill("own")
        page.get_by_label("Model", exact=True).fill("openai/of-my-own")
        page.get_by_label("Base URL").fill(scripted_llm.base_url)
        page.get_by_label("API key").fill(scripted_llm.api_key)
        page.get_by_label("Price of input, $").fill("2.5")
        page.get_by_label("Price of output, $").fill("0")
        page.get_by_role("button", name="Save").last.click()
        expect(page.get_by_text("own is saved")).to_be_visible()
        page.get_by_label("Limit, in US dollars", exact=True).fill("0.2")
        page.get_by_label("Per", exact=True).select_option("day")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("$0.00 of $0.20 spent today.")).to_be_visible()
        someone.check_layout("spending-limit")

        page.goto(server.url)
        page.get_by_label("Task").fill("Think about it.")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("Your spending limit is reached").first).to_be_visible()
        expect(page.get_by_text("Paused").first).to_be_visible()
        someone.check_layout("spending-limit-reached")

        page.get_by_role("button", name="Continue with +$0.20").click()
        expect(page.get_by_text("Worth every cent.")).to_be_visible()
        page.goto(f"{server.url}/settings/models")
        expect(page.get_by_text("You have added $0.25 for this period.")).to_be_visible()
        shown = client.get("/settings/spending-limit").raise_for_status().json()
        assert (shown["limit"], shown["period"]) == (0.2, "day")
        assert shown["spent"] >= 0.25
        assert someone.complaints == []


def test_the_reservation_of_a_killed_server_blocks_no_other_call(
    server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    prices = {"input_cost_per_token": 0, "output_cost_per_token": 0.01}
    llm = {"model": MODEL, "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key, **prices}
    scripted_llm.aside = say("A title")
    scripted_llm.script(hang(), say("Here I am again."))
    with server.client() as client:
        client.post("/settings/profiles/priced", json={"llm": llm}).raise_for_status()
        # A call reserves far more than the limit, so a second call is allowed only when the first is over.
        client.put("/settings/spending-limit", json={"limit": 1}).raise_for_status()
        # With a title: otherwise the call for a title would reserve money at the same time.
        conversation_id = start_conversation(client, "Go.", title="Held up")
        scripted_llm.wait_for_request(1)
        server.kill()
        server.start()
        wait_for_status(client, conversation_id, "finished")
