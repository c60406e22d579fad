"""Tests of the live stream of several app servers while Redis is not reachable: readers get the events from
the database.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from app_server.core import pubsub
from app_server.core.errors import ConfigurationError
from app_server.core.pubsub import Ended, Frame, LocalPubSub, RedisPubSub, require_redis
from tests.app_server.conversations.test_stream import Feed, feed, read_until
from tests.app_server.eventually import eventually
from tests.support.outage_proxy import OutageProxy
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

__all__ = ["feed"]
REDIS_URL = os.environ.get("SLIPWAY_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
CHANNEL = UUID(int=1)


@pytest.fixture
async def proxy() -> AsyncIterator[OutageProxy]:
    async with OutageProxy(urlsplit(REDIS_URL).port or 6379) as proxy:
        yield proxy


@pytest.fixture
async def through_proxy(proxy: OutageProxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RedisPubSub]:
    for name in ("RECONNECT_SECONDS", "LOOK_SECONDS", "HEARTBEAT_SECONDS"):
        monkeypatch.setattr(pubsub, name, 0.2)
    redis = RedisPubSub(f"redis://127.0.0.1:{proxy.port}/0")
    yield redis
    await redis.close()


@pytest.mark.redis
async def test_the_stream_replays_and_goes_on_while_redis_is_away(
    feed: Feed, proxy: OutageProxy, through_proxy: RedisPubSub
) -> None:
    await proxy.gone()
    state = feed.home.state
    usual, state["pubsub"] = state["pubsub"], through_proxy
    await feed.report_events(1, 3)
    async with feed.watch(after_seq=0) as socket:
        await read_until(socket, type="durable", seq=3)
        await feed.report_events(4, 4)
        await read_until(socket, type="durable", seq=4)
        # as on another app server: the stream gets no messages from this object
        state["pubsub"] = LocalPubSub()
        await feed.report_events(5, 700)
        assert (await read_until(socket, type="durable", seq=700))[0]["seq"] == 5
    state["pubsub"] = usual


async def test_a_server_stops_while_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pubsub, "RECONNECT_SECONDS", 0.0)
    url = f"redis://127.0.0.1:{free_port()}/0"
    # Closes at many different moments of a failing connection: at one of them the cancellation was lost
    # before.
    for moment in range(150):
        redis = RedisPubSub(url)
        await asyncio.sleep(moment * 0.00007)
        closing = asyncio.create_task(redis.close())
        done, _ = await asyncio.wait({closing}, timeout=PATIENCE_SECONDS)
        assert done, f"it did not close {moment * 0.07:.2f} ms after its start"


@pytest.mark.redis
@pytest.mark.parametrize("how", ["gone", "frozen"])
async def test_watchers_start_over_when_redis_goes_and_hear_each_other_once_it_is_back(
    how: str, proxy: OutageProxy, through_proxy: RedisPubSub
) -> None:
    there = RedisPubSub(REDIS_URL)
    async with through_proxy.subscribe(CHANNEL) as watcher:
        await (proxy.gone() if how == "gone" else _frozen(proxy))
        with pytest.raises(Ended):
            await watcher.next()
    async with there.subscribe(CHANNEL) as other, through_proxy.subscribe(CHANNEL) as alone:
        through_proxy.publish(CHANNEL, [Frame("meanwhile", 1)])
        assert Frame("meanwhile", 1) in [await alone.next(), await alone.next()]
        await proxy.back()
        assert await other.next() == pubsub.LOOK, "it is told that it has missed something"

    async def is_heard() -> bool:
        async with there.subscribe(CHANNEL) as other:
            through_proxy.publish(CHANNEL, [Frame("again", 2)])
            return Frame("again", 2) == await other.next()

    await eventually(is_heard)
    await there.close()


async def _frozen(proxy: OutageProxy) -> None:
    proxy.frozen()


@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:6379", "redis://127.0.0.1:port/0"])
async def test_an_invalid_url_stops_the_start(url: str) -> None:
    with pytest.raises(ConfigurationError, match="SLIPWAY_REDIS_URL"):
        await require_redis(url)


async def test_a_host_without_an_address_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match="its host has no address"):
        await require_redis("redis://nowhere.invalid:6379/0")


async def test_a_redis_that_is_away_does_not_stop_the_start() -> None:
    await require_redis(f"redis://127.0.0.1:{free_port()}/0")


@pytest.mark.redis
async def test_a_password_that_redis_does_not_take_stops_the_start() -> None:
    wrong = REDIS_URL.replace("redis://", "redis://someone:hush@")
    with pytest.raises(ConfigurationError, match="SLIPWAY_REDIS_URL") as refused:
        await require_redis(wrong)
    assert "hush" not in str(refused.value)
