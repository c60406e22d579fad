"""Determines which runtime plugins can be shown only if their port has a separate host name. The only such
plugin is VS Code. A page below a path has an opaque origin, in which VS Code does not start.
"""

from typing import Final

from app_server.core.errors import Conflict
from app_server.gateway.schemas import NAMED_PORTS

_NEED_NAMES: Final = {NAMED_PORTS["VSCODE"]: "VS Code"}


def needs_name(port: int) -> bool:
    """Returns whether this port is the port of VS Code, which can be shown only at a separate host name and
    not below a path of Slipway's address.
    """
    return port in _NEED_NAMES


def needs_name_problem(port: int) -> Conflict:
    """Returns the error Conflict `host_name_needed`, which says that the runtime plugin on this port (VS
    Code) can be shown only at a separate host name.
    """
    return Conflict(
        f"{_NEED_NAMES[port]} cannot be shown at this address: it needs a separate host name.",
        code="host_name_needed",
        fix="Open Slipway at localhost, or set SLIPWAY_PREVIEW_DOMAIN.",
    )
