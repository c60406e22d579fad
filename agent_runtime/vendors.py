"""Lists the vendors of models: the protocol and the URL of each vendor, by the prefix of its models' names.
Also reads the reason and the waiting time from a vendor's refusal.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

UNREACHABLE = "llm_vendor_unreachable"
WRONG_BASE_URL = "llm_base_url_wrong"
"""An error code of the app server's model gateway: a server answers at the model's URL, but it is not a model
server. The constant before this one, UNREACHABLE, is the code if no server answers at the URL.
"""

OPENAI_URL = "https://api.openai.com/v1"

OPENAI_COMPATIBLE: Mapping[str, str | None] = {
    "cerebras": "https://api.cerebras.ai/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "groq": "https://api.groq.com/openai/v1",
    "hosted_vllm": None,
    "litellm_proxy": None,
    "lm_studio": "http://localhost:1234/v1",
    "mistral": "https://api.mistral.ai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "ollama": "http://localhost:11434/v1",
    "openai": OPENAI_URL,
    "openrouter": "https://openrouter.ai/api/v1",
    "together_ai": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
}
"""The base URLs of the vendors that use OpenAI's protocol. None means that the user must configure the base
URL.
"""

OTHER_PROTOCOLS = frozenset(
    {
        "anthropic",
        "azure",
        "azure_ai",
        "bedrock",
        "cohere",
        "cohere_chat",
        "databricks",
        "gemini",
        "sagemaker",
        "vertex_ai",
        "watsonx",
    }
)
"""The vendors whose servers do not use OpenAI's protocol, even if the user has configured a base URL."""

RETRY_HEADERS = ("retry-after", "retry-after-ms")
"""The headers in which vendors state how long to wait: `retry-after` in seconds or as a date,
`retry-after-ms` in milliseconds.
"""

_RETRY_INFO = re.compile(r'retryDelay\\*"\s*:\s*\\*"(\d{1,9}(?:\.\d{1,9})?)s')
"""Finds the waiting time in Google's error JSON (the object `google.rpc.RetryInfo`), also if this JSON is
inside a string of another JSON.
"""


def retry_after_seconds(headers: Mapping[str, str], body: str = "") -> float | None:
    """Returns how many seconds a vendor asks to wait before the next call. Returns None if the refusal
    contains no readable time.

    `headers`: the headers of the refusal, with names in lower case. A value in milliseconds has priority over
    a value in seconds or a date. `body`: the text of the refusal, in which Google states the time; it is used
    if the headers state none.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = headers.get("retry-after", "")
    seconds = _number(stated)
    if seconds is None:
        seconds = _seconds_until(stated)
    return _seconds_in(body) if seconds is None else seconds


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    # A wait without an end, or with no meaning, would end the retries.
    return number if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max((then - datetime.now(UTC)).total_seconds(), 0)


def _seconds_in(body: str) -> float | None:
    found = _RETRY_INFO.search(body)
    return float(found[1]) if found else None
