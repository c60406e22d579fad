"""Reads settings from environment variables named `OH_<SETTING>`, and warns about variables that have no
effect.
"""

import json
import logging
import re
import typing
from collections.abc import Mapping
from typing import Any

logger = logging.getLogger(__name__)

PREFIX = "OH_"
_OLD_KEY = "SESSION_API_KEY"

TAKEN_OUT = (
    "OH_SESSION_API_KEYS",
    _OLD_KEY,
    "OH_SECRET_KEY",
    "OH_PREVIOUS_SECRET_KEYS",
    "OH_INIT_API_KEY",
    "OH_SPEC_SEAL_KEYS",
)
"""The prefixes of the environment variables that contain keys. These variables are removed from the
environment after they are read.
"""

_WITHOUT_EFFECT = {
    "OH_ACP_SKILL_SOURCING": "there are no ACP agents",
    "OH_BASH_EVENTS_DIR": "commands and their output are kept in memory, bounded",
    "OH_CONVERSATION_RUNTIME": "conversations run in this process; the app server isolates them",
    "OH_ENABLE_BROWSER": "the browser starts when an agent first uses it",
    "OH_LEASE_TTL_SECONDS": "a conversation belongs to the process that holds its lock, until it ends",
    "OH_PRELOAD_TOOLS": "tools are loaded in milliseconds",
    "OH_REGISTERED_MARKETPLACES": "there are no marketplaces",
    "OH_STATIC_FILES_PATH": "the app server serves the front end",
    "OH_TRUST_FORWARDED_HEADERS": "forwarded addresses of callers are not used",
}
_WITHOUT_EFFECT_PREFIXES = {"OH_TELEMETRY_": "there is no telemetry"}
_WEBHOOK = re.compile(r"OH_WEBHOOKS_(\d+)_(\w+)")
_WEBHOOK_TUNING = re.compile(
    r"HEADERS.*|EVENT_BUFFER_SIZE|FLUSH_DELAY|NUM_RETRIES|RETRY_DELAY|MAX_(QUEUE|BATCH)_(SIZE|BYTES)"
)


def read_variables(environment: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that the environment variables set. The keys are the names of the settings, the
    values are not checked yet. Logs a warning for each unknown `OH_` variable.

    `settings`: all settings that exist; the key is the name of a setting, the value is its Python type.
    """
    found: dict[str, Any] = {}
    for name, annotation in settings.items():
        variable = PREFIX + name.upper()
        if environment.get(f"{variable}_IS_NONE", "").lower() in {"1", "true"}:
            found[name] = None
        elif _is_list(annotation):
            found |= {name: items} if (items := _list(environment, variable)) else {}
        elif environment.get(variable):
            found[name] = environment[variable]
    if webhooks := _webhooks(environment):
        found["webhooks"] = webhooks
    if old := environment.get(_OLD_KEY):
        found["session_api_keys"] = [*found.get("session_api_keys", []), old]
    _warn(environment, settings)
    return found


def _is_list(annotation: Any) -> bool:
    return typing.get_origin(annotation) is tuple


def _list(environment: Mapping[str, str], variable: str) -> list[Any]:
    """Returns the items of a setting that is a list. The environment variable with the name `variable`
    contains the first items as a JSON list. Further items are the values of the variables
    `<variable>_<number>`, sorted by number.
    """
    text = environment.get(variable, "").strip()
    items: list[Any] = _json_list(text) if text else []
    numbered = {
        int(match[1]): value
        for name, value in environment.items()
        if (match := re.fullmatch(rf"{variable}_(\d+)", name))
    }
    return [*items, *(numbered[number] for number in sorted(numbered) if numbered[number])]


def _json_list(text: str) -> list[Any]:
    try:
        items = json.loads(text)
    except ValueError:
        return [text]
    return items if isinstance(items, list) else [text]


def _webhooks(environment: Mapping[str, str]) -> list[dict[str, str]]:
    found: dict[int, str] = {}
    for name, value in environment.items():
        match = _WEBHOOK.fullmatch(name)
        if match and match[2] == "BASE_URL" and value:
            found[int(match[1])] = value
    return [{"base_url": found[number]} for number in sorted(found)]


def _warn(environment: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    known = {PREFIX + name.upper() for name in settings}
    for name in sorted(environment):
        if not name.startswith(PREFIX) or _is_known(name, known):
            continue
        if reason := _reason(name):
            logger.warning("%s has no effect: %s.", name, reason)
        else:
            logger.warning("%s is not a setting of this server.%s", name, _suggestion(name, known))


def _is_known(name: str, known: set[str]) -> bool:
    webhook = _WEBHOOK.fullmatch(name)
    is_webhook = webhook is not None and webhook[2] == "BASE_URL"
    return is_webhook or name in known or re.sub(r"_(\d+|IS_NONE)$", "", name) in known


def _reason(name: str) -> str | None:
    webhook = _WEBHOOK.fullmatch(name)
    if webhook and _WEBHOOK_TUNING.fullmatch(webhook[2]):
        return "reports are sent at once and repeated until they arrive"
    prefixes = (reason for prefix, reason in _WITHOUT_EFFECT_PREFIXES.items() if name.startswith(prefix))
    return _WITHOUT_EFFECT.get(name) or next(prefixes, None)


def _suggestion(name: str, known: set[str]) -> str:
    import difflib  # rarely needed, at a start that must be quick

    nearest = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {nearest[0]}?" if nearest else ""
