"""Labels of the containers that this installation makes."""

import platform

from app_server.core.config import Config


def owner_of_helpers(config: Config) -> str:
    """The label of containers that live for seconds. They belong to the one server of a home."""
    return f"{platform.node()}:{config.home}"
