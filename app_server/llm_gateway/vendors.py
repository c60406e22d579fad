"""Which vendor a model name means, and how it is reached. Pure."""

from dataclasses import dataclass

from app_server.settings.models import RECORDED_PREFIX

_OPENAI_COMPATIBLE = {
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
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "together_ai": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
}
"""Vendors that speak OpenAI chat completions, by the prefix of their models. None: only with a base URL."""

_OTHER_PROTOCOLS = frozenset(
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
"""Vendors with a protocol of their own, also behind a base URL."""


@dataclass(frozen=True)
class PassThrough:
    """Speaks OpenAI chat completions below `base_url`, which has no trailing slash."""

    base_url: str
    model: str


@dataclass(frozen=True)
class Translated:
    """Has a protocol of its own; litellm knows it by the whole model name."""

    model: str
    base_url: str | None


@dataclass(frozen=True)
class Recorded:
    """A recording is played."""

    name: str


Vendor = PassThrough | Translated | Recorded


def vendor_of(model: str, base_url: str | None) -> Vendor:
    """How to ask `model`; a `base_url` of the profile beats the vendor's usual one."""
    prefix, _, rest = model.partition("/")
    if model.startswith(RECORDED_PREFIX):
        return Recorded(rest)
    if rest and prefix in _OPENAI_COMPATIBLE:
        if url := base_url or _OPENAI_COMPATIBLE[prefix]:
            return PassThrough(url.rstrip("/"), rest)
    elif base_url and prefix not in _OTHER_PROTOCOLS:
        return PassThrough(base_url.rstrip("/"), model)
    return Translated(model, base_url)
