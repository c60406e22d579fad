"""The Docker labels of the containers that this installation makes."""

import platform

from app_server.core.config import Config


def owner_of_helpers(config: Config) -> str:
    """Returns the label of helper containers, which live only for seconds. They belong to the only server of
    a home.
    """
    return f"{platform.node()}:{config.home}"
