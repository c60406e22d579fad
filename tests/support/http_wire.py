"""Reads and changes raw HTTP/1.1 messages on sockets, for the proxies of tests. Each connection has one
request.
"""

import re
import select
import socket

PIECE = 65536


def read_head(client: socket.socket) -> bytes:
    """Reads from the client until the head of the request is complete. Returns all bytes received so far.

    The result may contain a part of the body. It is empty if the client closed the connection.
    """
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(PIECE)
        if not piece:
            return b""
        head += piece
    return head


def closing(head: bytes) -> bytes:
    """Returns the head with `Connection: close`, so that the server closes the connection after its
    answer.
    """
    start, end, rest = head.partition(b"\r\n")
    lines = re.sub(rb"(?i)\r\nconnection: keep-alive", b"", end + rest)
    return start + b"\r\nConnection: close" + lines


def carry(one: socket.socket, another: socket.socket) -> None:
    """Copies data in both directions until one side closes its connection."""
    other = {one: another, another: one}
    while True:
        for source in select.select(list(other), [], [])[0]:
            try:
                piece = source.recv(PIECE)
                other[source].sendall(piece)
            except OSError:
                return
            if not piece:
                return


def read_to_the_end(server: socket.socket) -> bytes:
    answer = b""
    while piece := server.recv(PIECE):
        answer += piece
    return answer
