"""HTTP/1.1 as it stands on a wire, for the proxies of tests: one request a connection."""

import re
import select
import socket

PIECE = 65536


def read_head(client: socket.socket) -> bytes:
    """The request as far as it has come, its head whole; nothing when the client went away."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(PIECE)
        if not piece:
            return b""
        head += piece
    return head


def closing(head: bytes) -> bytes:
    """The same, with the wish that the connection ends after the answer."""
    start, end, rest = head.partition(b"\r\n")
    lines = re.sub(rb"(?i)\r\nconnection: keep-alive", b"", end + rest)
    return start + b"\r\nConnection: close" + lines


def carry(one: socket.socket, another: socket.socket) -> None:
    """Both ways, until either ends."""
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
