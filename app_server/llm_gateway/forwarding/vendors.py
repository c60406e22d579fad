"""Determines from a model name which vendor offers the model, and how to call this vendor. This module does
no I/O.
"""

from dataclasses import dataclass

from agent_runtime.vendors import OPENAI_COMPATIBLE, OTHER_PROTOCOLS
from app_server.settings.models import RECORDED_PREFIX


@dataclass(frozen=True)
class PassThrough:
    """A vendor to which calls are sent in the vendor's protocol, without translation by litellm. In most
    cases this is OpenAI's protocol for chat completions. `base_url`: the address of the vendor's API, without
    a trailing slash. `model`: the vendor's name of the model.
    """

    base_url: str
    model: str


@dataclass(frozen=True)
class Translated:
    """A vendor that does not use OpenAI's protocol. The library litellm recognises the vendor by the whole
    model name, and translates the calls.

    `base_url`: the address in the model profile; None if the profile has none. `project_and_location`: the
    Google Cloud project and the location of a model at Vertex AI; None for other vendors.
    """

    model: str
    base_url: str | None
    project_and_location: tuple[str, str] | None = None


@dataclass(frozen=True)
class Recorded:
    """A recording (stored replies of a model) that takes the place of a vendor. The app server calls no real
    model and returns these replies. `name`: the name of the recording.
    """

    name: str


Vendor = PassThrough | Translated | Recorded


def vendor_of(model: str, base_url: str | None) -> Vendor:
    """Determines from a model name which vendor offers the model, and returns how to call this vendor.
    `base_url`: an address to use in place of the vendor's usual one; None if the model profile (the saved
    model with its options) has none.
    """
    prefix, _, rest = model.partition("/")
    if model.startswith(RECORDED_PREFIX):
        return Recorded(rest)
    if rest and prefix in OPENAI_COMPATIBLE:
        if url := base_url or OPENAI_COMPATIBLE[prefix]:
            return PassThrough(url.rstrip("/"), rest)
    elif base_url and prefix not in OTHER_PROTOCOLS:
        return PassThrough(base_url.rstrip("/"), model)
    return Translated(model, base_url)
