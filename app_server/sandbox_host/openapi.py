"""Prints the OpenAPI document of a sandbox host (a server that runs sandboxes for an app server) as JSON. The
output depends only on the version of Slipway.
"""

import json
import sys

from app_server.core.config import Config
from app_server.sandbox_host.main import create_host_app
from app_server.sandbox_host.services import HostServices

if __name__ == "__main__":
    json.dump(
        create_host_app(HostServices(Config()), "").openapi(),
        sys.stdout,
        indent=2,
        sort_keys=True,
        ensure_ascii=False,
    )
    sys.stdout.write("\n")
