"""Searches for credentials in places where they must not be.

Each credential of a test is a canary: a unique text. The search also finds it in the usual encodings.
"""

import base64
import sqlite3
import subprocess
from pathlib import Path
from urllib.parse import quote

import httpx
import orjson

from app_server.core.config import Config
from app_server.core.encryption import load_cipher
from tests.support.server import AppServerProcess

API = Path(__file__).parents[2] / "docs" / "openapi" / "app_server.json"


def forms_of(canary: str) -> list[str]:
    """Returns the text of the canary itself, reversed, and in the usual encodings.

    Base64 differs with the position of the canary in a longer text, so all three variants are returned.
    """
    data = canary.encode()
    # Base64 depends on the bytes before the canary. Its first and last characters also depend on the
    # neighbours.
    shifted = [base64.b64encode(b"\0" * shift + data).decode()[4 if shift else 0 : -4] for shift in range(3)]
    return [canary, canary[::-1], data.hex(), data[::-1].hex(), quote(canary, safe=""), *shifted]


def shown(text: str, canaries: dict[str, str]) -> list[str]:
    return [name for name, canary in canaries.items() if any(form in text for form in forms_of(canary))]


def look_into_container(sandbox_id: str, canaries: dict[str, str]) -> str:
    """Searches a sandbox for canaries (the credentials of a test). Returns the paths of the files in the
    container that contain a canary, and the canaries that `docker inspect` or `docker logs` shows. Returns an
    empty text if no canary is found.

    The search in the container runs as root.
    """
    name = f"slipway-sandbox-{sandbox_id}"
    # grep reads the canaries from its input: on its command line it would find itself.
    places = "/workspace /home /tmp /etc /run /var /dev/shm /proc/[0-9]*/environ /proc/[0-9]*/cmdline"
    search = f"grep -raslF -f - {places}"
    found = subprocess.run(
        ["docker", "exec", "-i", "--user", "0", name, "sh", "-c", search],
        input="\n".join(canaries.values()),
        capture_output=True,
        text=True,
        check=False,
    )
    told = ""
    for word in ("inspect", "logs"):
        done = subprocess.run(["docker", word, name], capture_output=True, text=True, check=True)
        told += done.stdout + done.stderr
    return found.stdout + "".join(shown(told, canaries))


def session_key_of(server: AppServerProcess, conversation_id: str) -> str:
    with sqlite3.connect(server.home / "slipway.sqlite3") as database:
        query = "SELECT encrypted_session_key FROM sandboxes WHERE id = ?"
        [row] = database.execute(query, (conversation_id,)).fetchall()
    database.close()
    return load_cipher(Config(home=server.home)).decrypt(row[0])


def everything_listed(client: httpx.Client, conversation_id: str) -> str:
    """Returns the answers of all list operations of the API to this user, as one text."""
    described = orjson.loads(API.read_bytes())["paths"]
    lists = [path for path, item in described.items() if "get" in item and "{" not in path]
    assert len(lists) > 10
    query = dict.fromkeys(("ids", "id", "sandbox_id__eq"), conversation_id)
    return "".join(_told(client, str(client.base_url.join(path)), query) for path in lists)


def _told(client: httpx.Client, url: str, query: dict[str, str]) -> str:
    """Returns the body of the reply. If the reply is an event stream, which never ends, returns only the
    first message of the stream.
    """
    with client.stream("GET", url, params=query) as reply:
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            return next(line for line in reply.iter_lines() if line.startswith("data:"))
        return reply.read().decode(errors="replace")
