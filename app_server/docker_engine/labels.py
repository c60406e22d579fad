"""The Docker labels of the containers that this app server creates."""

import platform

from app_server.core.config import Config


def owner_of_helpers(config: Config) -> str:
    """Returns the label that marks the helper containers of this app server, which run only for seconds. The
    label is the same after a restart, so that the restarted app server can remove helper containers of the
    killed one.
    """
    return f"{platform.node()}:{config.home}"
