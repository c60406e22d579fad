"""The Docker label of the containers that this app server starts for short tasks."""

import platform

from app_server.core.config import Config


def owner_of_helpers(config: Config) -> str:
    """Returns the value of the Docker label that marks helper containers: containers of this app server that
    run only for seconds. The value stays the same after a restart, so that the app server can remove helper
    containers that were left over when it was killed.
    """
    return f"{platform.node()}:{config.home}"
