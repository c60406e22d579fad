"""Contains the runtime plugins for the browser and for Jupyter. These plugins only report whether the two
programs are installed. The agent's tools start the programs.
"""

import importlib.util

from agent_runtime.server.runtime_plugins.plugin import Absence
from agent_runtime.tools.browser.chromium import NAMES, find_chromium


class BrowserPlugin:
    name = "browser"
    title = "The agent's browser"

    def absence(self) -> Absence | None:
        if find_chromium() is not None:
            return None
        reason = f"There is no browser here: none of {', '.join(NAMES)} is installed."
        return Absence("browser_unavailable", reason, "Use a sandbox image that carries one, or install it.")


class Jupyter:
    name = "jupyter"
    title = "Jupyter"

    def absence(self) -> Absence | None:
        if all(importlib.util.find_spec(module) for module in ("ipykernel", "jupyter_client")):
            return None
        reason = "There is no IPython kernel beside the agent server."
        return Absence("jupyter_unavailable", reason, "Install ipykernel and jupyter-client.")
