"""Tests of conversations on two hosts, each a machine with a separate Docker engine. One of the hosts is
lost.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import pytest

from app_server.core.config import Config
from app_server.sandbox_backends.docker.containers import AGENT_PORT
from app_server.sandbox_backends.docker.network import NETWORK
from tests.app_server.sandboxes.conftest import name_of
from tests.support.packet_filter import remove_rules
from tests.support.sandbox_host import PORT
from tests.support.scripted_llm import ScriptedLLM
from tests.support.server import (
    conversation,
    events,
    start_task,
    wait_until,
)
from tests.support.two_hosts import Site, two_hosts

pytestmark = [pytest.mark.own_engine, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Starts the two hosts for all tests of this module, because each takes ten seconds to start. Yields the
    site.
    """
    with ScriptedLLM() as llm, two_hosts(tmp_path_factory.mktemp("hosts"), llm) as site:
        yield site


@pytest.fixture
def site(both: Site) -> Iterator[Site]:
    """Yields the site with two hosts that run and have no sandboxes."""
    yield both
    both.clear()


def test_conversations_are_spread_by_free_memory_and_go_on_elsewhere_when_their_host_is_lost(
    site: Site,
) -> None:
    first = site.start("First", "echo mine > notes")
    second = site.start("Second", "echo theirs > notes")
    third = site.start("Third", "echo ours > notes")
    assert site.hosts_of(first, second, third) == ["big", "big", "small"]
    for each in (first, second, third):
        site.back_up(each, each)

    site.server.kill()
    site.server.start()
    wait_until(lambda: site.statuses(first, second, third) == ["RUNNING"] * 3, site.story)
    assert "ours" in site.go_on(third, "cat notes"), "adopted, with its files"

    site.big.lose()
    wait_until(lambda: site.statuses(first, second, third) == ["MISSING", "MISSING", "RUNNING"], site.story)
    assert "MISSING" in site.line_of(first)
    refused = site.server.slipway("doctor", fails=True).stdout
    assert "The sandbox host big has not answered" in refused
    assert "host small     Slipway" in refused

    site.client.post(f"/sandboxes/{first}/resume").raise_for_status()
    wait_until(lambda: site.statuses(first) == ["RUNNING"], site.story)
    assert site.hosts_of(first) == ["small"]
    assert "their backup of" in json.dumps(start_task(site.client, first))
    assert "mine" in site.go_on(first, "cat notes; echo newer > notes")
    site.big.boot_again()
    wait_until(lambda: site.statuses(second) == ["RUNNING"], site.story)
    assert "theirs" in site.go_on(second, "cat notes")
    assert "newer" in site.go_on(first, "cat notes"), "the one that went on elsewhere counts"
    with site.big.client() as host:
        found = host.get("/sandboxes").raise_for_status().json()
        states = {UUID(each["id"]): each["state"] for each in found}
        assert states[UUID(first)] == "stopped", "not two of one; what it had there is still there"
        assert host.get(f"/sandboxes/{first}/workspace").raise_for_status().content


@pytest.fixture
def grouped(site: Site) -> Iterator[Site]:
    """Yields the site with the setting that new conversations join the sandbox of the newest one."""
    group_by(site, "GROUP_BY_NEWEST")
    yield site
    group_by(site, "NO_GROUPING")


def group_by(site: Site, strategy: str) -> None:
    body = {"sandbox_grouping_strategy": strategy}
    site.client.put("/settings/sandbox-grouping", json=body).raise_for_status()


def test_conversations_at_work_go_on_elsewhere_with_all_that_was_said(grouped: Site) -> None:
    site = grouped
    first = site.start("First", "echo mine > notes")
    second = site.start("Second", "echo theirs > notes")
    said = site.back_up(first, first, second)
    site.keep_at_work(first, "echo newer > notes")
    assert "theirs" in site.go_on(second, "cat notes; echo later > more")
    third = site.start("Third", "echo young > notes")
    assert len({str(conversation(site.client, each)["sandbox_id"]) for each in (first, second, third)}) == 1
    seen = {each: events(site.client, each) for each in (first, second, third)}
    lost = sum(map(len, seen.values())) - said
    key = site.key_of(first)
    assert site.deliver(key, first, []) == 200

    site.big.lose()
    wait_until(lambda: site.statuses(first, second, third) == ["MISSING"] * 3, site.story)
    refused = site.client.post(f"/sandboxes/{first}/resume")
    assert (refused.status_code, refused.json()["code"]) == (409, "backup_outdated")
    assert refused.json()["later_events"] == lost
    site.client.post(f"/sandboxes/{first}/resume", json={"from_backup": True}).raise_for_status()
    late = {**seen[first][-1], "id": "too-late"}
    frames = [{"type": "durable", "seq": len(seen[first]) + 1, "event": late}]
    assert site.deliver(key, first, frames) == 401, "what was never told is no part of it any more"
    wait_until(lambda: site.statuses(first, second, third) == ["RUNNING"] * 3, site.story)
    assert site.hosts_of(first) == ["small"]
    wait_until(lambda: "begins anew" in site.texts(third), site.story)
    wait_until(lambda: "execution_status" in json.dumps(events(site.client, first)[-2]), site.story)

    assert conversation(site.client, first)["execution_status"] == "paused"
    assert conversation(site.client, second)["execution_status"] == "finished"
    for each, before in seen.items():
        assert events(site.client, each)[: len(before)] == before
    assert "may have run" in site.texts(first)
    assert "a backup of" in site.texts(second)
    assert "mine" in site.go_on(first, "cat notes")
    assert "No such file" in site.go_on(second, "cat notes more")
    assert "No such file" in site.go_on(third, "cat notes")

    told = {each: events(site.client, each) for each in seen}
    site.big.boot_again()
    wait_until(lambda: "is ended" in site.log() or _is_stopped(site, first), site.story)
    assert site.deliver(key, first, frames) == 401
    assert {each: events(site.client, each) for each in seen} == told


@pytest.fixture
def reconfigured(site: Site) -> Iterator[Site]:
    """Yields the site. After the test, both hosts are in the settings of the app server again."""
    yield site
    site.use_hosts(site.big, site.small)


def test_a_conversation_goes_on_elsewhere_when_its_host_is_removed_from_the_settings(
    reconfigured: Site,
) -> None:
    site = reconfigured
    moved = site.start("Moved", "echo mine > notes")
    assert site.hosts_of(moved) == ["big"]
    site.back_up(moved, moved)

    site.use_hosts(site.small)
    wait_until(lambda: site.statuses(moved) == ["MISSING"], site.story)
    error = conversation(site.client, moved)["sandbox_error"]
    assert error["code"] == "sandbox_host_unknown"
    assert "sandbox host big, which is not in SLIPWAY_SANDBOX_HOSTS" in error["cause"]

    site.client.post(f"/sandboxes/{moved}/resume").raise_for_status()
    wait_until(lambda: site.statuses(moved) == ["RUNNING"], site.story)
    assert site.hosts_of(moved) == ["small"]
    assert "mine" in site.go_on(moved, "cat notes")


def _is_stopped(site: Site, sandbox_id: str) -> bool:
    with site.big.client() as host:
        found = host.get("/sandboxes").raise_for_status().json()
    return {UUID(each["id"]): each["state"] for each in found}.get(UUID(sandbox_id)) == "stopped"


def test_a_sandbox_reaches_neither_the_service_of_a_host_nor_other_sandboxes(site: Site) -> None:
    """The rules of the hosts' packet filters are removed before, and the sandbox hosts set them again."""
    victim = site.start("Victim", "nohup python3 -m http.server 8123 --bind 0.0.0.0 >/dev/null 2>&1 &")
    thief = site.start("Thief", "true")
    assert site.hosts_of(victim, thief) == ["big", "big"]
    with closing(site.big.engine.client()) as engine:
        gateway = engine.networks.get(NETWORK).attrs["IPAM"]["Config"][0]["Gateway"]
        networks = engine.containers.get(name_of(UUID(victim))).attrs["NetworkSettings"]["Networks"]
    theirs = networks[NETWORK]["IPAddress"]
    inner_port = Config(home=site.big.home).inner_port
    hosts = [gateway, site.big.engine.address, site.small.engine.address, site.small.engine.address_of_ours]
    forbidden = [*((each, PORT) for each in hosts), (theirs, 8123), (theirs, AGENT_PORT)]
    probe = (
        "import socket\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def look(place):\n"
        "    try:\n"
        "        socket.create_connection(place, timeout=3).close()\n"
        "        return 'reached'\n"
        "    except OSError:\n"
        "        return 'kept out'\n"
        f"places = {[(gateway, inner_port), *forbidden]!r}\n"
        "with ThreadPoolExecutor() as pool:\n"
        "    for place, how in zip(places, pool.map(look, places)):\n"
        "        print(how, *place)\n"
    )
    assert "Directory listing" in site.go_on(victim, "curl -s http://127.0.0.1:8123/"), "it does listen"

    remove_rules(site.big.engine, site.big.output, site.story)
    said = site.go_on(thief, f"cat > /tmp/probe.py <<'E'\n{probe}E\npython3 /tmp/probe.py | sort | uniq")

    assert f"reached {gateway} {inner_port}" in said, "all that is open to it"
    for host, port in forbidden:
        assert f"kept out {host} {port}" in said
        assert f"reached {host} {port}" not in said
