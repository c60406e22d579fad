"""Tests of network rules of the organisation and of teams: which hosts sandboxes may call."""

from typing import Any

import httpx
import pytest

from app_server.core.addresses import parse_rule
from app_server.egress.policy import EgressMode, Policy, Reason, RuleOfLevel
from app_server.levels.models import Level
from app_server.levels.resolution import LevelValue
from tests.app_server.egress.conftest import WayOut
from tests.app_server.problems import assert_problem
from tests.support.outside import says

RULES = "/api/v1/administration/items/egress_rule"
NETWORK = "/api/v1/settings/network"


async def put(client: httpx.AsyncClient, host: str, **body: Any) -> None:
    reply = await client.put(f"{RULES}/{host}", json=body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["allows"] == body["allows"]


async def allow(client: httpx.AsyncClient, *hosts: str) -> httpx.Response:
    return await client.put(NETWORK, json={"mode": None, "hosts": [*hosts]})


@pytest.mark.low_ports
async def test_an_enforced_denial_holds_whatever_a_person_allows(
    way_out: WayOut, client: httpx.AsyncClient
) -> None:
    (await allow(client, "wanted.test")).raise_for_status()
    async with way_out.site("wanted.test", says("hello")):
        await put(client, "wanted.test", allows=False)
        assert await way_out.curl("https://wanted.test/") == "hello", "what a person allows overrides it"
        await put(client, "wanted.test", allows=False, enforced=True, description="Not ours")
        refused = await way_out.curl("-i", "http://wanted.test/")
        assert "X-Slipway-Egress: denied" in refused
        assert "is denied by the organisation or a team" in refused
        assert await way_out.reasons() == [("wanted.test", "denied")]
        [shown] = (await client.get("/api/v1/settings/levels/items")).json()
        assert (shown["kind"], shown["allows"], shown["enforced"]) == ("egress_rule", False, True)
        (await allow(client, "wanted.test")).raise_for_status()
        assert_problem(await allow(client, "wanted.test", "wanted.test:8443"), 403, "setting_enforced")
        conversation = f"/api/v1/app-conversations/{way_out.sandbox_id}/network/answer"
        answer = {"host": "wanted.test", "port": 8080, "answer": "conversation"}
        assert_problem(await client.post(conversation, json=answer), 403, "setting_enforced")
        assert (await client.delete(f"{RULES}/wanted.test")).status_code == 204
        assert await way_out.curl("https://wanted.test/") == "hello"


@pytest.mark.low_ports
async def test_a_host_that_the_organisation_allows_is_reached_by_everyone(
    way_out: WayOut, client: httpx.AsyncClient
) -> None:
    async with way_out.site("index.test", says("packages")):
        assert "403" in await way_out.curl("https://index.test/")
        await put(client, "*.index.test", allows=True)
        await put(client, "index.test", allows=True)
        assert await way_out.curl("https://index.test/") == "packages"
    assert_problem(await client.put(f"{RULES}/not a host", json={"allows": True}), 422, "validation_failed")


ORGANISATION, TEAM = Level.ORGANISATION, Level.TEAM


@pytest.mark.parametrize(
    ("rules", "refusal"),
    [
        ([], None),
        ([("*.a.test", ORGANISATION, False, False)], Reason.DENIED),
        ([("*.a.test", ORGANISATION, False, True), ("x.a.test", TEAM, False, False)], Reason.DENIED),
        ([("*.a.test", ORGANISATION, True, False), ("x.a.test", TEAM, True, True)], Reason.DENIED),
        ([("*.a.test", ORGANISATION, False, False), ("x.a.test", TEAM, False, True)], None),
        ([("*.a.test", TEAM, False, True), ("x.a.test", TEAM, False, False)], Reason.DENIED),
        ([("x.a.test:8443", ORGANISATION, True, False)], None),
    ],
)
def test_the_strongest_level_decides_and_a_denial_comes_first_in_it(
    rules: list[tuple[str, Level, bool, bool]], refusal: Reason | None
) -> None:
    of_levels = [
        RuleOfLevel(parse_rule(host), LevelValue(level, allows, enforced, team_name=level.value))
        for host, level, enforced, allows in rules
    ]
    assert Policy(EgressMode.OPEN, of_levels=of_levels).refusal("x.a.test", 443) is refusal


def test_a_denial_without_a_port_is_about_all_ports_and_an_allowance_about_the_usual_ones() -> None:
    def refusal(allows: bool) -> Reason | None:
        rule = RuleOfLevel(parse_rule("a.test"), LevelValue(ORGANISATION, allows))
        return Policy(EgressMode.ALLOWLIST, [parse_rule("a.test:8443")], of_levels=[rule]).refusal(
            "a.test", 8443
        )

    assert (refusal(False), refusal(True)) == (Reason.DENIED, None)
    off = Policy(
        EgressMode.NONE, of_levels=[RuleOfLevel(parse_rule("a.test"), LevelValue(ORGANISATION, True))]
    )
    assert off.refusal("a.test", 443) is Reason.NETWORK_OFF
