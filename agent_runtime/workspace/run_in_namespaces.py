"""A program that starts another program, the wanted program, in the command namespaces: the isolated Linux
namespaces in which the agent's commands run (`command_namespaces.py`).

Some libraries start programs themselves, and can do this only outside of these namespaces. Such a library
starts this program instead of the wanted program. This program asks the spawner (`spawner.py`) to start the
wanted program in the command namespaces.

Usage: `python -I -S run_in_namespaces.py SOCKET DESCRIPTION`. SOCKET is the path of the spawner's socket, and
DESCRIPTION is a file that describes the wanted program. This program removes the file DESCRIPTION.

This program passes its streams, SIGTERM and SIGINT to the wanted program. It ends with the exit status of the
wanted program, or with 128 plus the number of the signal that ended the wanted program. If this program ends
first, the wanted program is killed.
"""

import json
import os
import signal
import socket
import sys

_MAX_ANSWER_BYTES = 4096
_NOT_FOUND = 127


def main() -> int:
    address, description = sys.argv[1:]
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection,
        open(description, "rb") as wanted,  # noqa: PTH123 (pathlib takes longer to load)
    ):
        os.unlink(description)  # noqa: PTH108 (likewise)
        connection.connect(address)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda which, _frame: pass_on(connection, which))
        request = json.dumps({"do": "run", "files": [0, 1, 2]}).encode()
        socket.send_fds(connection, [request], [wanted.fileno(), 0, 1, 2])
        begun = json.loads(connection.recv(_MAX_ANSWER_BYTES) or b'{"errno": 5}')
        if reason := begun.get("errno"):
            sys.stderr.write(f"{begun.get('path')}: {os.strerror(reason)}\n")
            return _NOT_FOUND
        # The other end of a pipe must learn at once that the program has let go of it.
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        ended = connection.recv(_MAX_ANSWER_BYTES)
    status = json.loads(ended)["status"] if ended else -signal.SIGKILL
    return int(status if status >= 0 else 128 - status)


def pass_on(connection: socket.socket, number: int) -> None:
    connection.send(json.dumps({"do": "signal", "number": number}).encode())


if __name__ == "__main__":
    sys.exit(main())
