"""`python -m agent_runtime.server`: the agent server as a process."""

import argparse
import logging
import sys

import uvicorn

from agent_runtime.server.config import ConfigError, from_environment, hide_from_own_user
from agent_runtime.server.main import create_app

SHUTDOWN_SECONDS = 5


def main() -> None:
    arguments = _arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # httpx would log every URL it calls.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    hide_from_own_user()
    try:
        config = from_environment()
    except ConfigError as error:
        sys.exit(str(error))
    host = arguments.host or ("0.0.0.0" if config.session_keys else "127.0.0.1")
    uvicorn.run(
        create_app(config),
        host=host,
        port=arguments.port,
        access_log=False,
        log_config=None,
        # A request that waits for a long command must not hold back the end: its client asks again.
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m agent_runtime.server")
    parser.add_argument("--host", help="default: 0.0.0.0 with a session key, 127.0.0.1 without one")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
