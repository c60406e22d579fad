"""Decides which users may choose the base image of their sandboxes. The choice needs a permission, because an
image build runs commands with network access and is not isolated like a sandbox.
"""

from dataclasses import dataclass

from app_server.core.config import Config
from app_server.core.errors import Forbidden
from app_server.sandbox_backends.backend import SandboxKind


@dataclass(frozen=True)
class SpecPermission:
    """The permission of one user to choose sandbox specs, which say from which base image sandboxes start.
    Each field is a reason for a refusal, as a text for the user, or None.

    `why_none`: the reason why the user can choose no spec at all, so that all sandboxes start from the image
    in the server's configuration. None means that the user can choose specs of the organisation and of teams.
    `why_not_own`: the reason why the user may not add or choose their own specs. None means that the user may
    add and choose them.
    """

    why_none: str | None = None
    why_not_own: str | None = None


def permission_of(config: Config, kind: SandboxKind, *, administers: bool) -> SpecPermission:
    """Returns the permission of a user to choose sandbox specs, which say from which base image sandboxes
    start. The permission depends on the configuration (such as SLIPWAY_SANDBOX_SPECS), on the kind of
    sandboxes and on the user.

    `kind`: the kind of sandboxes of this server. If sandboxes run as processes, users can choose no spec,
    because there are no images. `administers`: whether the user administers the installation
    (User.administers_installation).
    """
    if reason := _why_none(config, kind):
        return SpecPermission(reason, reason)
    if config.sandbox_specs == "admins" and not administers:
        return SpecPermission(
            why_not_own="Only admins may choose what sandboxes are built on (SLIPWAY_SANDBOX_SPECS)."
        )
    return SpecPermission()


def sandbox_specs_not_allowed(reason: str) -> Forbidden:
    return Forbidden(
        reason,
        code="sandbox_specs_not_allowed",
        fix="Leave sandbox_spec_id out: the server's own image is used.",
    )


def _why_none(config: Config, kind: SandboxKind) -> str | None:
    if kind.backend == "process":
        return "Sandboxes here are processes of the server's machine: there is no image to choose."
    if config.sandbox_image:
        return "The server is configured to start all sandboxes from one image."
    if config.sandbox_specs == "nobody":
        return "No user may choose what sandboxes are built on (SLIPWAY_SANDBOX_SPECS)."
    return None
