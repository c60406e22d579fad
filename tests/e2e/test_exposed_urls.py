"""A script calls the agent server through the sandbox's exposed URL: the app server gets all resulting
events.
"""

import httpx

from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import (
    AppServerProcess,
    conversation,
    events,
    start_conversation,
    wait_for_status,
    wait_until,
)


def test_what_a_script_does_at_the_agent_server_is_in_the_log(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(say("First answer."), say("Second answer."))
    with scripted_server.client() as client:
        started = start_conversation(client, "Begin.")
        wait_for_status(client, started, "finished")
        sandbox = conversation(client, started)["sandbox_id"]
        (info,) = client.get("/sandboxes", params={"id": sandbox}).raise_for_status().json()
        (agent_server,) = (one["url"] for one in info["exposed_urls"] if one["name"] == "AGENT_SERVER")

        def is_answered() -> bool:
            return any("Second answer." in str(event) for event in events(client, started))

        key = {"X-Session-API-Key": info["session_api_key"]}
        with httpx.Client(base_url=agent_server, headers=key) as script:
            log = f"/api/conversations/{started}/events"
            text = {"type": "text", "text": "From a script."}
            message = {"role": "user", "content": [text], "run": True}
            script.post(log, json=message).raise_for_status()
            wait_until(is_answered, lambda: str(events(client, started)[-3:]))
            there = [one["id"] for one in script.get(f"{log}/search").raise_for_status().json()["items"]]

            def all_are_here() -> bool:
                return set(there) <= {one["id"] for one in events(client, started)}

            # The last events may not have reached the app server yet.
            wait_until(all_are_here, lambda: str(there))
            assert any("From a script." in str(event) for event in events(client, started))
            assert script.delete(f"/api/conversations/{started}").status_code == httpx.codes.FORBIDDEN
