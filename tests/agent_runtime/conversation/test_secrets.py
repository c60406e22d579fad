"""Commands of the agent get the secrets of a conversation. Logs, events and requests do not contain them."""

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from agent_runtime.conversation.changes import relabel
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.fork import fork
from agent_runtime.secrets.masking import MASK
from agent_runtime.secrets.sources import InvalidSecretError
from agent_runtime.wire import ForkRequest
from tests.agent_runtime.conversation.conftest import Conversations, Watch, events_of, of_kind, user
from tests.support.scripted_llm import call, calls, say

VALUE = "s3cret \"value\" with $signs & 'quotes'\nand a second line"
SHORT = "hunter22"


class Vault:
    """An HTTP server from which the values of secrets are fetched. seen: the X-Token
    header of each request.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.seen: list[str | None] = []
        vault = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version: ClassVar[str] = "HTTP/1.1"

            def do_GET(self) -> None:
                vault.seen.append(self.headers.get("X-Token"))
                value = vault.values.get(self.path)
                body = (value or "no").encode()
                self.send_response(200 if value else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def vault() -> Iterator[Vault]:
    vault = Vault()
    yield vault
    vault.server.shutdown()
    vault.server.server_close()


async def outputs(conversations: Conversations, *commands: str, **request: Any) -> list[str]:
    """Runs these commands one after another and returns their outputs as the agent sees them."""
    conversation = await ran(conversations, *commands, **request)
    return outputs_of(conversation)


async def ran(conversations: Conversations, *commands: str, **request: Any) -> ConversationEngine:
    conversations.llm.script(*(call("terminal", command=command) for command in commands), say("Done."))
    conversation = conversations.create(**request)
    conversation.send(user("Go."))
    await conversation.run()
    return conversation


def outputs_of(conversation: ConversationEngine) -> list[str]:
    found = of_kind(conversation, "ObservationEvent")
    return ["".join(part["text"] for part in one["observation"]["content"]) for one in found]


def everything_written(conversation: ConversationEngine, path: Any) -> str:
    conversation.log.close()
    files = [one for one in path.rglob("*") if one.is_file() and "workspace" not in one.parts]
    return "".join(one.read_bytes().decode(errors="replace") for one in files)


async def test_a_command_gets_the_variables_that_it_names_and_only_they(conversations: Conversations):
    (conversations.path / "workspace").mkdir()
    shown = await outputs(
        conversations,
        'printf %s "$TOKEN" > token; env | grep -c OTHER',
        "env | grep -c -i -e TOKE -e OTHE; declare -p | grep -c hunter",
        'echo "[$OTHER]"',
        secrets={"TOKEN": VALUE, "OTHER": SHORT},
    )

    assert (conversations.workspace / "token").read_text() == VALUE
    # The text of the first command also contains the name OTHER. Therefore the command gets this variable as
    # well.
    assert shown == ["1", "0\n0", f"[{MASK}]"]


async def test_a_name_within_another_name_is_another_name(conversations: Conversations):
    assert await outputs(
        conversations, 'echo "[$MY_TOKEN]"; env | grep -c ^TO', secrets={"TOKEN": SHORT}
    ) == ["[]\n0"]


async def test_no_process_list_and_no_trace_shows_it(conversations: Conversations):
    shown = await outputs(
        conversations,
        "set -x; true",
        "cat /proc/$PPID/cmdline /proc/$$/cmdline | tr '\\0' ' ' | grep -c hunter22 || test $TOKEN",
        "set +x; type __slipway_begin | grep -c hunter",
        secrets={"TOKEN": SHORT},
    )
    assert not any(SHORT in text for text in shown)


async def test_an_interrupted_command_takes_its_variables_along(conversations: Conversations):
    conversations.llm.script(
        calls(("terminal", {"command": "test $TOKEN; sleep 60", "timeout": 0.3})),
        call("terminal", command="C-c", is_input=True),
        call("terminal", command="env | grep -c ^TOK"),
        say("Done."),
    )
    conversation = conversations.create(secrets={"TOKEN": SHORT})
    conversation.send(user("Go."))
    await conversation.run()

    assert outputs_of(conversation)[-1] == "0"


@pytest.mark.parametrize(
    "command",
    [
        "echo $TOKEN",
        "echo -n $TOKEN | base64",
        "echo -n prefix$TOKEN | base64 -w0",
        "echo -n $TOKEN | xxd -p",
        "python3 -c 'import os, json; print(json.dumps(os.environ[\"TOKEN\"]))'",
        "for i in 1 2 3 4 5 6 7 8; do printf %s ${TOKEN:i-1:1}; sleep 0.02; done",
        "echo $TOKEN >&2; false",
        "cat $TOKEN",
    ],
)
async def test_no_output_shows_it(conversations: Conversations, command: str):
    (shown,) = await outputs(conversations, command, secrets={"TOKEN": SHORT})
    assert SHORT not in shown
    assert MASK in shown


async def test_output_that_is_cut_and_saved_does_not_show_it(conversations: Conversations):
    command = "for i in {1..3000}; do echo line $i $TOKEN; done"
    conversation = await ran(conversations, command, secrets={"TOKEN": SHORT})

    (saved,) = (conversations.path / "conversation" / "observations").iterdir()
    assert saved.read_text().count(MASK) == 3000
    assert SHORT not in everything_written(conversation, conversations.path)


async def test_a_secret_is_in_no_event_frame_file_or_request(conversations: Conversations):
    encoded = base64.b64encode(SHORT.encode()).decode()
    conversations.llm.script(
        call("terminal", thought=f"I know {SHORT}", command=f"echo {SHORT}", summary=f"Says {SHORT}"),
        say(f"It is {SHORT}, or {encoded}."),
    )
    conversation = conversations.create(secrets={"TOKEN": {"kind": "StaticSecret", "value": SHORT}})
    watch = Watch(conversation)
    conversation.send(user(f"The password is {SHORT}."))
    await conversation.run()
    relabel(conversation, title=f"About {SHORT}")

    for said in (str(events_of(conversation)), str(watch.frames), str(conversation.info())):
        assert SHORT not in said
        assert encoded not in said
    assert "".join(frame["content"] for frame in watch.of_type("delta")).count(MASK) >= 2
    assert not any(SHORT in str(request.body) for request in conversations.llm.requests)
    assert SHORT not in everything_written(conversation, conversations.path)


async def test_the_first_message_of_a_creation_is_kept_nowhere_in_clear(conversations: Conversations):
    message = {"role": "user", "content": [{"type": "text", "text": f"Use {SHORT}"}]}
    conversation = conversations.create(
        secrets={"TOKEN": SHORT}, initial_message=message, title=f"With {SHORT}", tags={"a": SHORT}
    )
    assert SHORT not in str(conversation.info())
    assert SHORT not in everything_written(conversation, conversations.path)


async def test_a_new_value_holds_from_the_next_command_on_and_the_old_stays_hidden(
    conversations: Conversations,
):
    conversation = await ran(conversations, "echo $TOKEN > one", secrets={"TOKEN": SHORT})
    conversation.secrets.update({"TOKEN": "another-value"})
    conversations.llm.script(call("terminal", command="echo $TOKEN > two; cat one two"), say("Done."))
    conversation.send(user("Again."))
    await conversation.run()

    assert (conversations.workspace / "two").read_text() == "another-value\n"
    assert outputs_of(conversation)[-1] == f"{MASK}\n{MASK}"


async def test_values_are_looked_up_when_they_are_used(conversations: Conversations, vault: Vault):
    vault.values = {"/token": "looked-up-value"}
    source = {"kind": "LookupSecret", "url": f"{vault.url}/token", "headers": {"X-Token": "key-of-vault"}}
    conversation = await ran(conversations, "echo none", secrets={"TOKEN": source})
    assert vault.seen == []

    conversations.llm.script(call("terminal", command="echo $TOKEN > one; echo $TOKEN"), say("Done."))
    conversation.send(user("Now."))
    await conversation.run()

    assert vault.seen == ["key-of-vault"]
    assert (conversations.workspace / "one").read_text() == "looked-up-value\n"
    assert outputs_of(conversation)[-1] == MASK


async def test_a_look_up_that_fails_is_told_to_the_model_and_nothing_runs(
    conversations: Conversations, vault: Vault
):
    missing = {"kind": "LookupSecret", "url": f"{vault.url}/nothing"}
    away = {"kind": "LookupSecret", "url": "http://127.0.0.1:1/token"}
    shown = await outputs(conversations, "touch ran $A", "touch ran $B", secrets={"A": missing, "B": away})

    assert "its place answered 404" in shown[0]
    assert "could not be looked up: ConnectError" in shown[1]
    assert not (conversations.workspace / "ran").exists()


async def test_after_a_restart_values_have_to_be_set_again_but_addresses_are_known(
    conversations: Conversations, vault: Vault
):
    vault.values = {"/token": "looked-up-value"}
    secrets = {"TOKEN": SHORT, "FOUND": {"kind": "LookupSecret", "url": f"{vault.url}/token"}}
    conversation = await ran(conversations, "true", secrets=secrets)
    await conversation.close()

    again = conversations.reopen()
    conversations.llm.script(
        call("terminal", command="echo $TOKEN"), call("terminal", command="echo $FOUND"), say("Done.")
    )
    again.send(user("Again."))
    again.run_context.agent = conversation.agent
    await again.run()

    first, second = outputs_of(again)[-2:]
    assert "lost in a restart" in first
    assert second == MASK


async def test_the_model_is_told_which_secrets_there_are(conversations: Conversations):
    described = {"kind": "StaticSecret", "value": SHORT, "description": "opens the staging server"}
    conversation = await ran(conversations, "true", secrets={"TOKEN": described})

    prompt = of_kind(conversation, "SystemPromptEvent")[0]["system_prompt"]["text"]
    assert "- TOKEN: opens the staging server" in prompt
    assert conversation.info().secret_registry["secret_sources"]["TOKEN"]["kind"] == "StaticSecret"


async def test_a_copy_has_the_same_secrets(conversations: Conversations):
    conversation = await ran(conversations, "true", secrets={"TOKEN": SHORT})
    copy = await fork(conversation, conversations.path / "copy", ForkRequest())
    conversations.llm.script(call("terminal", command="echo $TOKEN"), say("Done."))
    copy.send(user("Go."))
    await copy.run()

    assert outputs_of(copy)[-1] == MASK
    await copy.close()


@pytest.mark.parametrize(
    "secrets",
    [{"A B": "x"}, {"TOKEN": {"kind": "Vault"}}, {"TOKEN": 7}, {"TOKEN": "a\0b"}, {"T": "x" * 99_999}],
)
async def test_what_cannot_be_a_secret_is_refused(conversations: Conversations, secrets: dict[str, Any]):
    with pytest.raises(InvalidSecretError) as refusal:
        conversations.create(secrets=secrets)
    assert "xxx" not in str(refusal.value)
