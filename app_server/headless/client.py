"""Makes the API calls of the commands `slipway run` and `slipway demo`. If a call fails, RunFailed is raised
with the server's message.
"""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import orjson
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

Json = dict[str, Any]

MAX_FRAME_BYTES = 16 * 1024**2
DELETE_TIMEOUT_SECONDS = 15.0
DELETE_POLL_SECONDS = 0.1


GONE_ON = frozenset({"nothing_to_confirm", "confirmation_outdated"})
"""The error codes with which the server refuses an answer to a confirmation request because the agent no
longer waits for the answer.
"""


class RunFailed(Exception):
    """The error that ends a headless run (a task that runs from the command line without a browser), because
    the task cannot continue. The message is for the person at the terminal.

    `code`: the code of the error that the server has sent; None if the server has sent no error.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class Client:
    """Calls the public API of a Slipway server as one signed-in user."""

    def __init__(self, url: str, api_key: str) -> None:
        self.url = url
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._http = httpx.Client(base_url=f"{url}/api/v1", headers=self._headers, timeout=60)

    def close(self) -> None:
        self._http.close()

    def start(self, request: Json) -> Json:
        return self._json("POST", "/app-conversations", json=request)

    def save_profile(self, name: str, llm: Json) -> None:
        self._json("POST", f"/settings/profiles/{name}", json={"llm": llm})

    def save_settings(self, changes: Json) -> None:
        self._json("POST", "/settings", json=changes)

    def web_client_config(self) -> Json:
        return self._json("GET", "/web-client/config")

    def events_count(self, conversation_id: str) -> int:
        return int(self._call("GET", f"/conversation/{conversation_id}/events/count").text)

    def patch(self, conversation_id: str) -> str:
        return self._call("GET", f"/app-conversations/{conversation_id}/git/patch").text

    def not_allowed(self, conversation_id: str) -> list[Json]:
        """Returns the project executables of the conversation's repository that the user has not allowed to
        run. Project executables are programs that the repository contains or configures, such as hooks, setup
        scripts and MCP servers.
        """
        items = self._json("GET", f"/app-conversations/{conversation_id}/consent")["items"]
        return [item["offer"] for item in items if item["state"] != "allowed"]

    def refuse(self, conversation_id: str, action_ids: list[str], reason: str) -> None:
        """Refuses actions for which the agent asks confirmation. The agent receives the reason and continues.
        Does nothing if the actions no longer wait for confirmation.
        """
        body = {"accept": False, "action_ids": action_ids, "reason": reason}
        try:
            self._json("POST", f"/app-conversations/{conversation_id}/respond-to-confirmation", json=body)
        except RunFailed as failure:
            if failure.code not in GONE_ON:
                raise

    def execute(self, conversation_id: str, command: str, *, timeout_seconds: int) -> Json:
        """Runs a command in the conversation's working directory in the sandbox. Returns the result of the
        command: `{exit_code, stdout, stderr, …}`.
        """
        return self._json(
            "POST",
            f"/app-conversations/{conversation_id}/execute-bash-command",
            json={"command": command, "timeout": timeout_seconds},
            timeout=timeout_seconds + 30,
        )

    def delete(self, conversation_id: str) -> bool:
        """Deletes the conversation and waits for the deletion of its sandbox, which the server does in the
        background. Returns True if the sandbox was deleted within DELETE_TIMEOUT_SECONDS, otherwise False.
        """
        self._call("DELETE", f"/app-conversations/{conversation_id}")
        deadline = time.monotonic() + DELETE_TIMEOUT_SECONDS
        while self._call("GET", "/sandboxes", params={"id": conversation_id}).json() != [None]:
            if time.monotonic() > deadline:
                return False
            time.sleep(DELETE_POLL_SECONDS)
        return True

    def frames(self, conversation_id: str) -> Iterator[Json]:
        """Yields the messages of the conversation's live stream, called frames. A frame of the type `durable`
        carries one event of the conversation's log, with the event's position `seq`. Other frames carry data
        that is not in the log, such as parts of the model's unfinished reply. If the connection is closed,
        connects again and continues after the last event.

        Raises RunFailed if the server cannot be reached, or if it closes the stream with the code 4001 or
        4004.
        """
        after = 0
        while True:
            try:
                for frame in self._connection(conversation_id, after):
                    after = frame.get("seq", after) if frame["type"] == "durable" else after
                    yield frame
            except ConnectionClosed as closed:
                if closed.rcvd and closed.rcvd.code in (4001, 4004):
                    raise RunFailed(f"The conversation's stream was closed: {closed.rcvd.reason}") from closed
            except OSError as error:
                raise RunFailed(f"The server went away: {error}") from error

    def _connection(self, conversation_id: str, after: int) -> Iterator[Json]:
        url = f"{self.url.replace('http', 'ws', 1)}/api/v1/conversation/{conversation_id}/events/stream"
        with connect(
            f"{url}?after_seq={after}", additional_headers=self._headers, max_size=MAX_FRAME_BYTES
        ) as socket:
            for text in socket:
                yield orjson.loads(text)

    def _json(self, method: str, path: str, **arguments: Any) -> Json:
        body: Json = self._call(method, path, **arguments).json()
        return body

    def _call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **arguments)
        except httpx.TransportError as error:
            raise RunFailed(f"The server does not answer: {error}") from error
        if response.is_error:
            raise _failure_of(response)
        return response


def _failure_of(response: httpx.Response) -> RunFailed:
    try:
        problem: Json = response.json()
    except ValueError:
        return RunFailed(
            f"{response.request.method} {response.request.url.path}: HTTP {response.status_code}"
        )
    words = f"{problem.get('detail')} [{problem.get('code')}]"
    return RunFailed(f"{words}\n{problem['fix']}" if problem.get("fix") else words, problem.get("code"))
