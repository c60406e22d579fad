"""A program that starts another program in the room: the isolated namespaces in which commands of the agent
run (`room.py`). It is for a library that can start programs only outside the room. The library starts this
program, and this program asks the spawner (`spawner.py`) to start the wanted program in the room.

Usage: `python -I -S enter_room.py SOCKET DESCRIPTION`. SOCKET is the path of the spawner's socket, and
DESCRIPTION is a file with the program to start. This program passes its streams, SIGTERM and SIGINT to the
program in the room. It ends with the exit status of that program, or with 128 plus the number of the signal
that ended that program. If this program ends first, the program in the room is killed. This program removes
the file DESCRIPTION.
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
