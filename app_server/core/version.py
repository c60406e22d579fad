"""Finds the version number of this Slipway installation."""

from importlib.metadata import PackageNotFoundError, version


def _installed_version() -> str:
    try:
        return version("slipway")
    except PackageNotFoundError:
        return "0+source"


VERSION = _installed_version()
