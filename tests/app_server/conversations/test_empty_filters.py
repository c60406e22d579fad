"""Tests of empty filters of the list of conversations."""

import pytest

from tests.app_server.conversations.conftest import ROOT, Home


@pytest.mark.parametrize(
    "name",
    [
        "title__contains",
        "selected_repository__contains",
        "selected_branch__eq",
        "llm_model__eq",
        "execution_status__eq",
        "query",
    ],
)
async def test_an_empty_filter_is_no_filter(home: Home, name: str) -> None:
    untitled = await home.start()
    conversation = await home.conversation(untitled["id"])
    found = await home.client.get(f"{ROOT}/search", params={name: ""})
    count = await home.client.get(f"{ROOT}/count", params={name: ""})
    assert (conversation["title"], conversation["selected_repository"]) == (None, None)
    assert [each["id"] for each in found.raise_for_status().json()["items"]] == [untitled["id"]]
    assert count.json() == 1
    await home.ended(untitled["id"])
