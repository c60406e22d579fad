"""Changes the requests of Schemathesis so that they do no harm. Schemathesis loads it (SCHEMATHESIS_HOOKS).

Commands do nothing, files stay in FUZZ_WORKSPACE, and no other machine is called. FUZZ_CONVERSATION is the id
of an existing conversation, so that not all answers are "not found". Each operation that was tried is written
to FUZZ_TRIED.
"""

import os
import uuid
from pathlib import Path
from typing import Any

import schemathesis

WORKSPACE = os.environ["FUZZ_WORKSPACE"]
CONVERSATION = os.environ["FUZZ_CONVERSATION"]
TRIED = Path(os.environ["FUZZ_TRIED"])
NOWHERE = "http://127.0.0.1:9"


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Schemathesis calls this just before it sends a request. It records the operation and changes the
    request.
    """
    with TRIED.open("a") as tried:
        tried.write(f"{case.operation.method.upper()} {case.operation.path}\n")
    _into_the_conversation(case)
    _into_the_workspace(case.query)
    _without_effect(case)


def _into_the_conversation(case: Any) -> None:
    # Only half of the requests: a conversation that does not exist is tried too. DELETE would remove it for
    # the rest.
    known = isinstance(case.path_parameters, dict) and "conversation_id" in case.path_parameters
    if known and case.method != "DELETE" and uuid.uuid4().int % 2:
        case.path_parameters["conversation_id"] = CONVERSATION


def _into_the_workspace(query: Any) -> None:
    path = query.get("path") if isinstance(query, dict) else None
    if isinstance(path, str) and path.startswith("/"):
        query["path"] = f"{WORKSPACE}/{path.lstrip('/')}"


def _without_effect(case: Any) -> None:
    body = case.body
    if not isinstance(body, dict):
        return
    for key, harmless in _HARMLESS.items():
        if body.get(key):
            body[key] = harmless
    for key in ("project_dir", "source", "plugin_ref"):
        if isinstance(body.get(key), str):
            body[key] = f"{WORKSPACE}/{body[key]}"
    if isinstance(body.get("llm"), dict):
        body["llm"] |= {"base_url": NOWHERE}
    if isinstance(body.get("workspace"), dict):
        body["workspace"] |= {"working_dir": WORKSPACE}


_HARMLESS: dict[str, Any] = {
    "command": "true",
    "cwd": WORKSPACE,
    "server": {"command": "true"},
    "base_url": NOWHERE,
    "url": NOWHERE,
    "server_url": NOWHERE,
    "hook_config": None,
    "plugins": None,
}
