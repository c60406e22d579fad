"""The browser, the Python kernel and the compilers of the full sandbox image work in an isolated
container.
"""

import base64
from pathlib import Path

import pytest

from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    Json,
    add_model,
    events,
    start_conversation,
    wait_for_status,
)

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]

SITE = "http://127.0.0.1:8123/"
PAGE = "<title>Shop</title><h1 style='background:#0a0'>Open</h1><button>Sum</button>"
SERVE = f"""cat > index.html <<'END'
{PAGE}
END
python3 -m http.server 8123 --bind 127.0.0.1 > /dev/null 2>&1 &
curl --silent --fail --retry 20 --retry-connrefused --retry-delay 1 {SITE} > /dev/null && echo served"""
CELL = """import os, subprocess
print(6 * 7, os.getuid(), subprocess.check_output(["node", "-p", "1 + 1"]).decode())"""
COMPILE = "printf '#include <stdio.h>\\nint main(){puts(\"compiled\");}' > a.c && gcc -o /tmp/a a.c && /tmp/a"


def test_an_agent_looks_at_its_page_runs_a_cell_and_compiles(
    tmp_path: Path, scripted_llm: ScriptedLLM
) -> None:
    environment = {"SLIPWAY_SANDBOX_IMAGE": sandbox_image("full")}
    scripted_llm.aside = say("A title")
    scripted_llm.script(
        call("terminal", command=SERVE),
        call("browser_navigate", url=SITE),
        call("browser_get_state", include_screenshot=True),
        call("execute_ipython_cell", code=CELL),
        call("terminal", command=COMPILE),
        call("finish", message="done"),
    )
    with (
        AppServerProcess(tmp_path / "home", sandbox="docker", environment=environment) as server,
        server.client() as client,
    ):
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        conversation_id = start_conversation(
            client, "look", llm_profile="scripted", confirmation_mode="never"
        )
        wait_for_status(client, conversation_id, "finished")
        seen = client.get(f"/app-conversations/{conversation_id}/browser").raise_for_status().json()
        found = [event["observation"] for event in events(client, conversation_id) if "observation" in event]

    served, opened, looked, cell, compiled, *_ = found
    assert "served" in text_of(served)
    assert "Shop" in text_of(opened), text_of(opened)
    assert "Sum" in text_of(looked)
    assert is_picture(picture_of(looked))
    assert text_of(cell).split()[:3] == ["42", "10001", "2"]
    assert "compiled" in text_of(compiled)
    assert [(page["url"], page["title"]) for page in seen["pages"]] == [(SITE, "Shop")]
    assert is_picture(seen["image_url"])


def text_of(observation: Json) -> str:
    return "\n".join(part["text"] for part in observation["content"] if part["type"] == "text")


def picture_of(observation: Json) -> str:
    [url] = [url for part in observation["content"] if part["type"] == "image" for url in part["image_urls"]]
    return str(url)


def is_picture(url: str) -> bool:
    kind, _, content = url.partition(";base64,")
    return kind in {"data:image/jpeg", "data:image/png"} and len(base64.b64decode(content)) > 1000
