"""Prints the OpenAPI document of the app server's REST API as JSON: `python -m app_server.openapi`. The
output is the same each time if the routes have not changed.
"""

import json
import sys

from app_server.core.config import Config
from app_server.main import create_app

if __name__ == "__main__":
    json.dump(create_app(Config()).openapi(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")
