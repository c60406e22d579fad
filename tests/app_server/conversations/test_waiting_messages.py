"""Tests of messages that wait until the sandbox of their conversation runs."""

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually


async def test_a_waiting_message_of_a_guest_reaches_the_agent_with_the_name(home: Home) -> None:
    conversation_id = (await home.ready(title="Look"))["id"]
    message = {"id": "waiting", "content": [{"type": "text", "text": "Go on."}], "run": False}
    async with client_of(home.config, await home.key_of(role=Role.MEMBER)) as guest:
        guest_id = (await guest.get("/api/v1/users/me")).json()["id"]
        people = f"{ROOT}/{conversation_id}/sharing/people/{guest_id}"
        (await home.client.put(people, json={"access": "steer"})).raise_for_status()
        (await home.client.post(f"/api/v1/sandboxes/{conversation_id}/archive")).raise_for_status()
        sent = await guest.post(f"{ROOT}/{conversation_id}/send-message", json=message)
    assert sent.json()["message"] == "queued", sent.text

    async def received() -> list[str | None]:
        params = {"kind__eq": "MessageEvent"}
        reply = await home.client.get(f"/api/v1/conversation/{conversation_id}/events/search", params=params)
        return [event["sender"] for event in reply.json()["items"] if event["source"] == "user"]

    assert await eventually(received) == ["Somebody"]
