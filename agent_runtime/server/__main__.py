"""`python -m agent_runtime.server`: the agent server as a process."""

import argparse
import gc
import importlib
import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
SHUTDOWN_SECONDS = 5


def main() -> None:
    arguments = _arguments()
    # Nothing that is imported is ever garbage: looking for some meanwhile takes a tenth of the start.
    gc.disable()
    leave_out_unused()
    from agent_runtime.secrets.masking import MaskingFormatter
    from agent_runtime.server.config import ConfigError, read_config
    from agent_runtime.server.handover import (
        HandOverError,
        erase_from_first_environment,
        hide_from_own_user,
        take_session_key,
    )
    from agent_runtime.server.main import create_app
    from agent_runtime.server.variables import TAKEN_OUT

    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(MaskingFormatter(LOG_FORMAT))
    # httpx would log every URL it calls.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    hide_from_own_user()
    try:
        key = take_session_key(arguments.session_key_from) if arguments.session_key_from else None
        # The process that --reload starts again and again reads its keys from the environment itself.
        config = read_config(dict(os.environ) if arguments.reload else os.environ, key)
    except (ConfigError, HandOverError) as error:
        sys.exit(str(error))
    if not arguments.reload:
        erase_from_first_environment(TAKEN_OUT)
    _import_modules(arguments.extra_python_path, arguments.import_modules)
    is_open = not config.session_keys and not config.deferred_init
    app = "agent_runtime.server.main:app_of_environment" if arguments.reload else create_app(config)
    _serve(app, arguments, default_host="127.0.0.1" if is_open else "0.0.0.0")


def leave_out_unused() -> None:
    """What others import if it is there, we never use, and every server would hold.

    A module that is None cannot be imported: both importers take that for a machine without it.
    """
    # The command line that comes with httpx brings a terminal library of 4 MB, wherever it is installed.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    # FastAPI asks of each model whether it is one of pydantic's first version: 2 MB.
    sys.modules["pydantic.v1"] = None  # type: ignore[assignment]


def _serve(app: "FastAPI | str", arguments: argparse.Namespace, *, default_host: str) -> None:
    import uvicorn

    gc.freeze()
    gc.enable()
    uvicorn.run(
        app,
        factory=arguments.reload,
        reload=arguments.reload,
        host=arguments.host or default_host,
        port=arguments.port,
        access_log=False,
        log_config=None,
        # Each reader would cost its own work and its own 300 kB of memory, for a way that is short.
        ws_per_message_deflate=False,
        # A request that waits for a long command must not hold back the end: its client asks again.
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def _import_modules(paths: list[str], modules: list[str]) -> None:
    """Makes tools of others' known before the first conversation asks for them."""
    sys.path.extend(paths)
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            sys.exit(f"--import-modules: {name} cannot be imported: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m agent_runtime.server")
    parser.add_argument("--host", help="default: 0.0.0.0 with a session key, 127.0.0.1 without one")
    parser.add_argument("--port", type=int, default=8000)
    key = parser.add_mutually_exclusive_group()
    key.add_argument("--reload", action="store_true", help="start again when a source file changes")
    key.add_argument(
        "--session-key-from",
        metavar="FILE",
        help="where the session key is read, once: a file that is removed then; -: the standard input",
    )
    parser.add_argument(
        "--import-modules", type=_split(","), default=[], metavar="A,B", help="modules to import at start"
    )
    parser.add_argument(
        "--extra-python-path",
        type=_split(":"),
        default=[],
        metavar="P:Q",
        help="where else modules are found",
    )
    return parser.parse_args()


def _split(separator: str) -> Callable[[str], list[str]]:
    return lambda text: [part for part in text.split(separator) if part]


if __name__ == "__main__":
    main()
