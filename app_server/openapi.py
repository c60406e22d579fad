"""Prints the OpenAPI document of the public app: `python -m app_server.openapi`. Equal routes give equal
bytes.
"""

import json
import sys

from app_server.core.config import Config
from app_server.main import create_app

if __name__ == "__main__":
    json.dump(create_app(Config()).openapi(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")
