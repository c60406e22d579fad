"""Whether what must not be there is: credentials that were given to be told again, in all their disguises."""

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
    """As itself and in its usual encodings, wherever in a longer text it begins."""
    data = canary.encode()
    # Encoded with what stands before it, base64 differs; its first and last characters depend on neighbours.
    shifted = [base64.b64encode(b"\0" * shift + data).decode()[4 if shift else 0 : -4] for shift in range(3)]
    return [canary, canary[::-1], data.hex(), data[::-1].hex(), quote(canary, safe=""), *shifted]


def shown(text: str, canaries: dict[str, str]) -> list[str]:
    return [name for name, canary in canaries.items() if any(form in text for form in forms_of(canary))]


def look_into_container(sandbox_id: str, canaries: dict[str, str]) -> str:
    """What root finds there, and what the engine tells."""
    name = f"slipway-sandbox-{sandbox_id}"
    # grep reads them from its input: on its command line it would find itself.
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
    """What every list of the API tells its user."""
    described = orjson.loads(API.read_bytes())["paths"]
    lists = [path for path, item in described.items() if "get" in item and "{" not in path]
    assert len(lists) > 10
    query = dict.fromkeys(("ids", "id", "sandbox_id__eq"), conversation_id)
    return "".join(_told(client, str(client.base_url.join(path)), query) for path in lists)


def _told(client: httpx.Client, url: str, query: dict[str, str]) -> str:
    """Returns the reply. Of a stream, which does not end, it is the first message: all that there is now."""
    with client.stream("GET", url, params=query) as reply:
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            return next(line for line in reply.iter_lines() if line.startswith("data:"))
        return reply.read().decode(errors="replace")
