"""Tests of publishing live frames: each reader of a conversation gets all frames in order. A reader that is
too slow is disconnected.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from app_server.core.pubsub import End, Ended, Frame, LocalPubSub, PubSub, RedisPubSub, Subscription
from tests.support.patience import PATIENCE_SECONDS

REDIS_URL = os.environ.get("SLIPWAY_TEST_REDIS_URL")


@pytest.fixture(params=["local", pytest.param("redis", marks=pytest.mark.redis)])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[tuple[PubSub, PubSub]]:
    """Yields the object that publishes and the object that subscribes. Without Redis, both are the same
    object.
    """
    if request.param == "local":
        local = LocalPubSub(queue_frames=10)
        yield local, local
        return
    if REDIS_URL is None:
        pytest.skip("SLIPWAY_TEST_REDIS_URL is not set")
    here, there = RedisPubSub(REDIS_URL, queue_frames=10), RedisPubSub(REDIS_URL, queue_frames=10)
    yield here, there
    await here.close()
    await there.close()


async def test_frames_arrive_in_order_at_each_watcher_of_the_channel(pair: tuple[PubSub, PubSub]) -> None:
    here, there = pair
    channel, frames = uuid4(), [Frame("a", 1), Frame("b", None, "item"), Frame("c", 2)]
    async with there.subscribe(channel) as first, there.subscribe(channel) as second:
        here.publish(uuid4(), [Frame("foreign")])
        here.publish(channel, frames[:1])
        here.publish(channel, frames[1:])
        for subscription in (first, second):
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert [await subscription.next() for _ in frames] == frames


async def test_kept_messages_are_sent_to_later_subscribers(pair: tuple[PubSub, PubSub]) -> None:
    here, there = pair
    channel = uuid4()
    frames = [Frame("old", stands=True), Frame("new", stands=True), Frame("passing")]
    async with there.subscribe(channel) as first:
        here.publish(channel, frames)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert [await first.next() for _ in frames] == frames
        async with there.subscribe(channel) as late:
            assert late.drain() == [frames[1]]
        here.publish(channel, [Frame("over", stands=False)])
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await first.next() == Frame("over", stands=False)
    async with there.subscribe(channel) as last:
        assert last.drain() == []


async def test_each_subject_stands_by_itself_with_its_age(pair: tuple[PubSub, PubSub]) -> None:
    here, there = pair
    channel = uuid4()
    output, wait = Frame("50 %", stands=True, subject="output"), Frame("9 s", stands=True, subject="retry")
    async with there.subscribe(channel) as first:
        here.publish(channel, [output, wait])
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert [(await first.next()).age_seconds for _ in range(2)] == [0, 0]
        async with there.subscribe(channel) as late:
            told = late.drain()
        assert told == [output, wait]
        assert all(frame.age_seconds > 0 for frame in told)
        for over, left in (Frame("", stands=False, subject="retry"), [output]), (Frame("", stands=False), []):
            here.publish(channel, [over])
            async with asyncio.timeout(PATIENCE_SECONDS):
                await first.next()
            async with there.subscribe(channel) as late:
                assert late.drain() == left


async def test_a_slow_watcher_is_ended_not_served_with_a_hole(pair: tuple[PubSub, PubSub]) -> None:
    here, there = pair
    channel = uuid4()
    async with there.subscribe(channel) as slow:
        here.publish(channel, [Frame(str(number)) for number in range(11)])
        with pytest.raises(Ended) as ended:
            await _read_all(slow)
        assert ended.value.reason is End.OVERRUN


async def test_closing_ends_all_watchers(pair: tuple[PubSub, PubSub]) -> None:
    _, there = pair
    async with there.subscribe(uuid4()) as subscription:
        await there.close()
        with pytest.raises(Ended):
            await subscription.next()


async def _read_all(subscription: Subscription) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await subscription.next()


async def test_a_watcher_that_lets_large_frames_pile_up_is_ended() -> None:
    subscription = Subscription(100, characters=10)
    for _ in range(3):
        subscription.push(Frame("1234567890 and more"))
        assert (await subscription.next()).text == "1234567890 and more"
    for _ in range(3):
        subscription.push(Frame("12345"))
        subscription.push(Frame("12345"))
        assert len(subscription.drain()) == 2
    for _ in range(3):
        subscription.push(Frame("12345"))
    with pytest.raises(Ended) as ended:
        await subscription.next()
    assert ended.value.reason is End.OVERRUN
