"""The command `python -m agent_runtime.server`, which runs the agent server as a process."""

import argparse
import importlib
import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_runtime.server.startup.lazy_modules import build_models_late, leave_out_unused, loading

if TYPE_CHECKING:
    from fastapi import FastAPI

    from agent_runtime.workspace.users import Users

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
SHUTDOWN_SECONDS = 5
EXIT_NOT_STARTED = 3
FACTORY = "agent_runtime.server.startup.application:application_of_environment"


def main() -> None:
    arguments = _arguments()
    _close_calls()
    if arguments.command_namespaces:
        _create_command_namespaces(arguments.command_namespaces)
    leave_out_unused()
    with loading():
        build_models_late()
        app, default_host = _prepare(arguments)
    if isinstance(app, str):
        _serve_anew(app, arguments, default_host)
    else:
        _serve(app, arguments, default_host)


def _close_calls() -> None:
    """Blocks the system calls for sockets to a hypervisor and for io_uring in this process and its later
    child processes (see the module `closed_calls`). If the kernel does not allow this, only logs a warning.

    This must be the first action of the start, because child processes that start earlier could still use
    these system calls.
    """
    from agent_runtime.server.startup.closed_calls import FilterError, close_calls

    try:
        close_calls()
    except FilterError as error:
        logging.getLogger(__name__).warning("AF_VSOCK and io_uring stay open to commands: %s", error)


def _create_command_namespaces(conversations: Path) -> None:
    """Creates the command namespaces (the isolated Linux namespaces in which the agent's commands run), and a
    child process that starts programs in these namespaces. Ends this process with an error message if the
    namespaces cannot be created. `conversations`: the directory of the conversations.

    This must happen before other modules are loaded, because the child process is forked from this process,
    which must have only one thread at that time.
    """
    from agent_runtime.workspace.command_namespaces import CommandNamespacesError, create_command_namespaces

    try:
        namespaces = create_command_namespaces(conversations)
    except CommandNamespacesError as error:
        sys.exit(str(error))
    from agent_runtime.workspace.users import start_in_command_namespaces

    start_in_command_namespaces(namespaces.spawner, namespaces.spawner_pid)


def _prepare(arguments: argparse.Namespace) -> "tuple[FastAPI | str, str]":
    """Reads the configuration and the keys, hides the keys from other processes, and creates the application.
    Returns the application and the address on which the server listens by default: 127.0.0.1 if every caller
    would be accepted, otherwise 0.0.0.0. Ends this process with an error message if the configuration is not
    valid.

    With the option --reload, returns the import path of the function that creates the application, in place
    of the application. Uvicorn needs this path, because it creates the application again after each change of
    the code.
    """
    from agent_runtime.secrets.masking import MaskingFormatter
    from agent_runtime.server.config import ConfigError, read_config
    from agent_runtime.server.keys.provisioning import (
        HandOverError,
        erase_from_first_environment,
        hide_from_own_user,
        take_first_keys,
    )
    from agent_runtime.server.startup.application import application_for
    from agent_runtime.server.startup.two_users import TwoUsersError, separate
    from agent_runtime.server.startup.variables import TAKEN_OUT

    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(MaskingFormatter(LOG_FORMAT))
    # httpx would log every URL it calls.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        handed = take_first_keys(arguments.session_key_from) if arguments.session_key_from else None
        # The process that --reload starts again and again reads its keys from the environment itself.
        environment = dict(os.environ) if arguments.reload else os.environ
        # The default configuration file is in the workspace, where the agent could write one.
        config = read_config(environment, handed, may_guess=not arguments.users)
        if arguments.users:
            separate(arguments.users, config.conversations_path)
    except (ConfigError, HandOverError, TwoUsersError) as error:
        sys.exit(str(error))
    hide_from_own_user()
    if not arguments.reload:
        erase_from_first_environment(TAKEN_OUT)
    _import_modules(arguments.extra_python_path, arguments.import_modules)
    is_open = not config.session_keys and not config.deferred_init
    app = FACTORY if arguments.reload else application_for(config)
    return app, "127.0.0.1" if is_open else "0.0.0.0"


def _serve(app: "FastAPI", arguments: argparse.Namespace, default_host: str) -> None:
    with loading():
        from uvicorn import Config, Server

    inherited = None if arguments.fd is None else _inherited(arguments.fd)
    options = _options(arguments, default_host)
    if inherited:
        options["host"], options["port"] = inherited.getsockname()[:2]
    server = Server(Config(app, **options))
    with suppress(KeyboardInterrupt):
        server.run([inherited] if inherited else None)
    if not server.started:
        sys.exit(EXIT_NOT_STARTED)


def _inherited(number: int) -> socket.socket:
    """Returns the socket that the parent process has passed to this process as the file descriptor `number`.
    Ends this process with an error message if this file descriptor is not a socket.

    Child processes do not inherit the socket, because the agent must not use it.
    """
    try:
        handed_over = socket.socket(fileno=number)
    except OSError as error:
        sys.exit(f"--fd {number}: {error}")
    handed_over.set_inheritable(False)
    return handed_over


def _serve_anew(factory: str, arguments: argparse.Namespace, default_host: str) -> None:
    import uvicorn

    uvicorn.run(factory, factory=True, reload=True, **_options(arguments, default_host))


def _options(arguments: argparse.Namespace, default_host: str) -> dict[str, Any]:
    return {
        "host": arguments.host or default_host,
        "port": arguments.port,
        "access_log": False,
        "log_config": None,
        # Compression would cost CPU and 300 kB of memory for each client, on a short path.
        "ws_per_message_deflate": False,
        # A request that waits for a long command must not delay the shutdown. Its client repeats it.
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
    }


def _import_modules(paths: list[str], modules: list[str]) -> None:
    """Imports these Python modules at the start, so that the tools in them are registered before the first
    conversation needs a tool. `paths`: directories that are added to the import path.
    """
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
    parser.add_argument("--fd", type=int, help="the number of an inherited socket to listen on instead")
    key = parser.add_mutually_exclusive_group()
    key.add_argument("--reload", action="store_true", help="start again when a source file changes")
    key.add_argument(
        "--session-key-from",
        metavar="FILE",
        help="where the session key is read, once: a file that is removed then; -: the standard input",
    )
    parser.add_argument(
        "--users",
        type=_users,
        metavar="SERVER:AGENT",
        help="for a start as root: the numbers of the users that the server and commands become",
    )
    parser.add_argument(
        "--command-namespaces",
        type=Path,
        metavar="CONVERSATIONS",
        help="behind bubblewrap: commands run apart from the server, and see no logs in this directory",
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
    arguments = parser.parse_args()
    if arguments.reload and arguments.fd is not None:
        parser.error("--reload opens a new socket each time: leave --fd out")
    return arguments


def _users(text: str) -> "Users":
    from agent_runtime.server.startup.two_users import parse_users

    return parse_users(text)


def _split(separator: str) -> Callable[[str], list[str]]:
    return lambda text: [part for part in text.split(separator) if part]


if __name__ == "__main__":
    main()
