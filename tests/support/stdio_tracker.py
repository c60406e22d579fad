"""An MCP server in plain Python, which runs as a program in sandboxes: `python3 -c SOURCE URL`.

Its tool `issues` calls the URL with the token from the variable TRACKER_TOKEN. It returns the answer, and
whether the token has the form of GitHub's tokens.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

TOKEN = "TRACKER_TOKEN"


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "tracker", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": about,
        }
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": "issues", "description": "Lists issues.", "inputSchema": schema}]}
    return {"content": [{"type": "text", "text": issues()}]}


def issues() -> str:
    token = os.environ[TOKEN]
    call = urllib.request.Request(  # noqa: S310 (the test names the address)
        sys.argv[1], headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(call, timeout=60) as reply:  # noqa: S310
            said = reply.read().decode()
    except urllib.error.URLError as error:
        said = f"failed: {error}"
    return f"{said} (a token of GitHub's form: {token.startswith('ghp_')})"


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] in {"initialize", "tools/list", "tools/call"}:
            reply["result"] = answer(asked["method"], asked.get("params", {}))
        else:
            reply["error"] = {"code": -32601, "message": "not known"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
