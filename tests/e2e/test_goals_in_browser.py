"""A user works with goals in the browser: a goal is judged and reached; another one is stopped and
resumed.
"""

import json
from collections import deque

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, hold, say
from tests.support.server import AppServerProcess

pytestmark = pytest.mark.browser


def verdict(*, complete: bool, missing: str = "") -> Turn:
    return say(json.dumps({"complete": complete, "score": 0.4, "missing": missing}))


def script(llm: ScriptedLLM, *, replies: list[Turn], verdicts: list[Turn]) -> None:
    """Scripts the replies of the agent and the verdicts of the judge, each in their own order.

    Requests for a title are answered at any time and use up none of them.
    """
    agent, judge = deque(replies), deque(verdicts)

    def answer(request: Request) -> Turn:
        if request.tool_names:
            return agent.popleft()
        return judge.popleft() if "<objective>" in json.dumps(request.messages) else say("A title")

    llm.aside, llm.fallback = None, answer


def test_a_task_goes_on_until_the_judge_is_content(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    again = hold(say("Now the tests have run: all of them pass."))
    unmet = verdict(complete=False, missing="The record shows no run of the tests after the last change.")
    script(
        scripted_llm,
        # The app answers the first reply without a tool call once, with "go on, or finish".
        replies=[say("I will look at it."), say("Done, I think."), again],
        verdicts=[unmet, verdict(complete=True)],
    )
    with visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(scripted_server.url)
        page.get_by_label("Task").fill("Mend the harbour, and show that it holds.")
        page.get_by_role("button", name="Goal mode: off").press("Enter")
        page.get_by_role("checkbox", name="Work on this until it is really done").check()
        page.get_by_label("Maximum rounds").fill("3")
        someone.check_layout("home-goal")
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Goal mode: on, at most 3 rounds")).to_be_focused()
        page.get_by_role("button", name="Start", exact=True).click()

        goal = page.get_by_role("region", name="Goal")
        log = page.get_by_role("log")
        expect(goal.get_by_text("Round 2 of 3")).to_be_visible()
        expect(goal.get_by_text("no run of the tests")).to_be_visible()
        expect(log.get_by_text("Not done yet")).to_be_visible()
        expect(log.get_by_text("The goal is not reached yet")).to_have_count(0)
        someone.check_layout("goal-round")

        again.release()
        expect(log.get_by_text("Goal reached")).to_be_visible()
        expect(goal.get_by_text("Reached in 2 rounds")).to_be_visible()
        someone.check_layout("goal-reached")
        assert someone.complaints == []


def test_a_goal_in_a_conversation_is_stopped_and_resumed(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    judging = hold(verdict(complete=False))
    script(
        scripted_llm,
        replies=[say("Hello."), say("Done."), say("Done again.")],
        verdicts=[judging, verdict(complete=True)],
    )
    with visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(scripted_server.url)
        page.get_by_label("Task").fill("Say hello.")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("Hello.", exact=True)).to_be_visible()

        page.get_by_label("Message to the agent").fill("Mend the harbour.")
        page.get_by_role("button", name="Goal mode: off").click()
        page.get_by_role("checkbox", name="Work on this until it is really done").check()
        someone.check_layout("goal-composer")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Send").click()

        goal = page.get_by_role("region", name="Goal")
        goal.get_by_role("button", name="Stop goal").click()
        expect(goal.get_by_text("Stopped in round 1 of 10")).to_be_visible()
        judging.release()
        goal.get_by_role("button", name="Resume").click()
        expect(goal.get_by_text("Reached in 1 round")).to_be_visible()
        someone.check_layout("goal-resumed")
        assert someone.complaints == []
