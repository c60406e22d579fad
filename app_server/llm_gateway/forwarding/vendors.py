"""Which vendor a model name means, and how it is reached. Pure."""

from dataclasses import dataclass

from agent_runtime.vendors import OPENAI_COMPATIBLE, OTHER_PROTOCOLS
from app_server.settings.models import RECORDED_PREFIX


@dataclass(frozen=True)
class PassThrough:
    """Speaks OpenAI chat completions below `base_url`, which has no trailing slash."""

    base_url: str
    model: str


@dataclass(frozen=True)
class Translated:
    """Does not speak the OpenAI protocol; litellm knows it by the whole model name."""

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
    if rest and prefix in OPENAI_COMPATIBLE:
        if url := base_url or OPENAI_COMPATIBLE[prefix]:
            return PassThrough(url.rstrip("/"), rest)
    elif base_url and prefix not in OTHER_PROTOCOLS:
        return PassThrough(base_url.rstrip("/"), model)
    return Translated(model, base_url)
