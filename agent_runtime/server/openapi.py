"""Prints the agent server's OpenAPI document: `python -m agent_runtime.server.openapi`."""

import json
import sys

from agent_runtime.server.config import Config
from agent_runtime.server.main import create_app

if __name__ == "__main__":
    json.dump(create_app(Config()).openapi(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")
