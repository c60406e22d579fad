"""The page of the app shows what to do when some of its files fail to load."""

import pytest
from playwright.sync_api import Route, expect

from tests.support.browser import visitor
from tests.support.server import AppServerProcess

pytestmark = pytest.mark.browser

THE_APP = "**/assets/index-*.js"


def test_a_page_whose_script_is_lost_twice_comes_up_and_the_sign_in_link_still_works(
    server: AppServerProcess,
) -> None:
    lost: list[str] = []

    def lose_two(route: Route) -> None:
        if len(lost) == 2:
            route.continue_()
            return
        lost.append(route.request.url)
        route.abort("failed")

    with visitor() as someone:
        someone.page.route(THE_APP, lose_two)
        someone.sign_in(server)
        expect(someone.page.get_by_role("heading", name="Try the demo")).to_be_visible()
        assert len(lost) == 2
        assert someone.page.evaluate("sessionStorage.length") == 0


def test_a_page_whose_script_never_comes_says_so_and_stops_asking(server: AppServerProcess) -> None:
    with visitor() as someone:
        page = someone.page
        page.route(THE_APP, lambda route: route.abort("failed"))
        page.goto(server.sign_in_link())
        expect(page.get_by_role("alert")).to_contain_text("A part of Slipway did not arrive")
        page.reload()
        expect(page.get_by_role("alert")).to_be_visible()

        page.unroute(THE_APP)
        page.reload()
        expect(page.get_by_role("heading", name="Try the demo")).to_be_visible()


def test_a_page_that_cannot_count_its_reloads_says_so_at_once(server: AppServerProcess) -> None:
    with visitor() as someone:
        page = someone.page
        page.add_init_script("Storage.prototype.setItem = () => { throw new Error('The storage is full.') }")
        page.route(THE_APP, lambda route: route.abort("failed"))
        page.goto(server.sign_in_link())
        expect(page.get_by_role("alert")).to_contain_text("A part of Slipway did not arrive")


def test_a_part_that_was_missing_during_a_restart_comes_when_the_user_tries_again(
    server: AppServerProcess,
) -> None:
    with visitor() as someone:
        page = someone.page
        someone.sign_in(server)
        expect(page.get_by_role("heading", name="Try the demo")).to_be_visible()
        server.stop()
        page.get_by_role("link", name="All conversations").first.click()
        alert = page.get_by_role("main").get_by_role("alert")
        expect(alert).to_contain_text("The server may be restarting, or it was upgraded.")
        alert.get_by_role("button", name="Try again").click()
        expect(alert).to_contain_text("The server does not answer yet.")
        someone.check_layout("missing-part")

        server.start()
        alert.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", name="Conversations")).to_be_visible()
