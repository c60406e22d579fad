"""Decides who may choose the base image of sandboxes. A build runs code with a network, next
to the engine.
"""

from app_server.core.config import Config
from app_server.core.errors import Forbidden
from app_server.sandbox_backends.backend import SandboxKind
from app_server.users.models import Role

_ADMINS = {Role.OWNER, Role.ADMIN}


def why_not(config: Config, kind: SandboxKind, role: Role) -> str | None:
    """Returns the reason why a user of this role may not choose a base image. Returns None if
    the user may.
    """
    if kind.backend == "process":
        return "Sandboxes here are processes of the server's machine: there is no image to choose."
    if config.sandbox_image:
        return "The server is configured to start all sandboxes from one image."
    match config.sandbox_specs:
        case "everybody":
            return None
        case "admins" if role in _ADMINS:
            return None
        case "admins":
            return "Only admins may choose what sandboxes are built on (SLIPWAY_SANDBOX_SPECS)."
        case "nobody":
            return "No user may choose what sandboxes are built on (SLIPWAY_SANDBOX_SPECS)."


def sandbox_specs_not_allowed(reason: str) -> Forbidden:
    return Forbidden(
        reason,
        code="sandbox_specs_not_allowed",
        fix="Leave sandbox_spec_id out: the server's own image is used.",
    )
