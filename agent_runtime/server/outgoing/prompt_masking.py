"""Masks secrets in prompts that programs send to models, in three protocols: OpenAI's chat completions and
Responses, and Anthropic's messages.

Only texts are masked. Protocol words, ids, images, audio, files as base64, and data that a vendor has signed
or encrypted stay unchanged, because the vendor would refuse them after a change.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import orjson

from agent_runtime.secrets.encoded_forms import MIN_CHARS
from agent_runtime.secrets.masking import Masker, encoded, everything

MAX_KNOWN = 20_000
"""The maximum number of texts without a secret whose digests are stored, so that these texts are not searched
again. This saves time, because a program sends all earlier texts again with each call.
"""

_DIGEST_BYTES = 16
# Fields of a body that hold schemas. Only descriptions are masked there.
_SCHEMAS = frozenset({"tools", "functions", "response_format", "output_format", "output_config", "text"})
_SETTINGS = frozenset({"model", "tool_choice", "include", "reasoning", "reasoning_effort", "service_tier"})
_STRUCTURE = frozenset(
    ("type", "role", "id", "call_id", "tool_call_id", "tool_use_id", "item_id", "name", "status", "phase",
     "cache_control", "media_type", "format", "detail")
)  # fmt: skip
_OPAQUE = frozenset(
    ("signature", "thought_signature", "encrypted_content", "extra_content", "provider_specific_fields",
     "file_data")
)  # fmt: skip
_PROTECTED_FIELDS = ("signature", "encrypted_content")
_REASONING_TYPES = ("thinking", "reasoning", "compaction")
_ADDRESSES = frozenset({"url", "image_url"})

Change = Callable[[str], str]


class PromptMasking:
    """An object that masks secrets in the prompts of one sandbox. It remembers the texts in which it has
    found no secret, at most the latest MAX_KNOWN, and does not search them again. If the secret values
    change, it forgets these texts.

    `masker`: a function that returns the Masker, which replaces the secrets; it is called for each prompt. By
    default the Masker knows all secret values of this process.
    """

    def __init__(self, masker: Callable[[], Masker] = everything) -> None:
        self._masker = masker
        self._forms: frozenset[bytes] = frozenset()
        self._clean: dict[bytes, None] = {}

    def masked(self, body: bytes) -> bytes:
        """Returns the body of a model request with every secret replaced by the mask. Returns the body
        unchanged if it contains no secret. A body that is not a JSON object is also returned unchanged,
        because the app server's model gateway refuses it anyway.
        """
        masker = self._masker()
        if not masker.forms:
            return body
        try:
            prompt = orjson.loads(body)
        except orjson.JSONDecodeError:
            return body
        if not isinstance(prompt, dict):
            return body
        if masker.forms != self._forms:
            self._forms = masker.forms
            self._clean.clear()
        new = self._not_known(prompt)
        texts = _with_secret(list(new.values()), masker)
        self._remember([key for key, text in new.items() if text not in texts])
        if not texts:
            return body
        return orjson.dumps(
            _prompt(
                prompt,
                lambda text: masker.text(text) if text in texts else text,
                lambda text: masker.json_text(text) if text in texts else text,
            )
        )

    def _not_known(self, prompt: dict[str, Any]) -> dict[bytes, str]:
        """Returns the texts of the prompt that must be searched for secrets. Leaves out texts in which an
        earlier search has found no secret, and texts that are too short for a secret. The keys of the result
        are the digests of the texts.
        """
        found: dict[bytes, str] = {}

        def take(text: str) -> str:
            if len(text) >= MIN_CHARS:
                key = blake2b(encoded(text), digest_size=_DIGEST_BYTES).digest()
                if key not in self._clean:
                    found[key] = text
            return text

        _prompt(prompt, take, take)
        return found

    def _remember(self, keys: Sequence[bytes]) -> None:
        self._clean |= dict.fromkeys(keys)
        for key in list(self._clean)[: max(0, len(self._clean) - MAX_KNOWN)]:
            del self._clean[key]


def _with_secret(texts: Sequence[str], masker: Masker) -> set[str]:
    """Returns the set of those texts in `texts` that contain a secret. Searches many texts at once, because
    each single search takes time.
    """
    if not texts or not masker.is_in(texts):
        return set()
    if len(texts) == 1:
        return set(texts)
    half = len(texts) // 2
    return _with_secret(texts[:half], masker) | _with_secret(texts[half:], masker)


def _prompt(prompt: dict[str, Any], change: Change, change_json: Change) -> dict[str, Any]:
    return {
        name: value
        if name in _SETTINGS
        else _schema(value, change)
        if name in _SCHEMAS
        else _masked_value(value, name, change, change_json)
        for name, value in prompt.items()
    }


def _schema(value: Any, change: Change) -> Any:
    if isinstance(value, list):
        return [_schema(one, change) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: change(one) if name == "description" and isinstance(one, str) else _schema(one, change)
        for name, one in value.items()
    }


def _masked_value(value: Any, name: str, change: Change, change_json: Change) -> Any:
    """Returns a copy of `value`, a part of the prompt, in which secrets are masked.

    `name`: the name of the field that contains `value`. It decides how a text is masked: the text of a field
    `arguments` (the JSON arguments of a tool call) by the function `change_json`, other texts by the
    function `change`. Both functions take a text and return the masked text. Parts that must not be changed,
    such as `data:` URLs and signed reasoning, stay unchanged.
    """
    if isinstance(value, str):
        if name in _ADDRESSES and value.startswith("data:"):
            return value
        return change_json(value) if name == "arguments" else change(value)
    if isinstance(value, list):
        return [_masked_value(one, name, change, change_json) for one in value]
    if not isinstance(value, dict) or _is_signed_or_encrypted(value):
        return value
    kind = value.get("type")
    is_call = kind in {"tool_use", "server_tool_use"}
    return {
        field: one
        if field in _STRUCTURE or field in _OPAQUE or (field == "data" and kind != "text")
        else _free(one, change)
        if field == "input" and is_call
        else _masked_value(one, field, change, change_json)
        for field, one in value.items()
    }


def _is_signed_or_encrypted(block: dict[str, Any]) -> bool:
    """Returns whether a vendor has signed or encrypted this block of a model's reasoning. Such a block must
    not be changed.
    """
    kind = block.get("type")
    return (
        isinstance(kind, str) and kind.startswith(_REASONING_TYPES) and any(map(block.get, _PROTECTED_FIELDS))
    )


def _free(value: Any, change: Change) -> Any:
    """Returns a copy of the arguments of a tool call, which may have any form, with secrets masked in all
    texts and field names. `change`: a function that masks a text.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_free(one, change) for one in value]
    if isinstance(value, dict):
        return {change(name): _free(one, change) for name, one in value.items()}
    return value
