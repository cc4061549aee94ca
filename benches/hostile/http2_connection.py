"""The server's side of an HTTP/2 connection, which reads properly and sends whatever it is told to."""

from collections.abc import Callable

import frames
from behaviour import Converse
from server import Connection


class Http2:
    def __init__(self, connection: Connection, first: bytes = frames.settings()):
        """Reads the client's preface and sends `first`."""
        self.connection = connection
        connection.read(len(frames.PREFACE))
        connection.send(first)

    def next_frame(self) -> tuple[int, int, int, bytes]:
        """The kind, the flags, the stream and the payload. SETTINGS and PING are acknowledged."""
        while True:
            header = self.connection.read(9)
            payload = self.connection.read(int.from_bytes(header[:3]))
            kind, flags, stream = header[3], header[4], int.from_bytes(header[5:])
            if kind not in (frames.SETTINGS, frames.PING):
                return kind, flags, stream, payload
            if not flags & frames.ACK:
                response = payload if kind == frames.PING else b""
                self.send(frames.frame(kind, frames.ACK, 0, response))

    def read_head(self) -> int:
        """The stream of the next request, whose body may follow."""
        while True:
            kind, _, stream, _ = self.next_frame()
            if kind == frames.HEADERS:
                return stream

    def read_request(self) -> int:
        """The stream of the next request that has arrived whole."""
        while True:
            kind, flags, stream, _ = self.next_frame()
            if kind in (frames.HEADERS, frames.DATA) and flags & frames.END_STREAM:
                return stream

    def read_end(self, stream: int) -> None:
        """Reads up to the end of the request on that stream."""
        while self.read_request() != stream:
            pass

    def send(self, data: bytes) -> None:
        self.connection.send(data)


def each(respond: Callable[[Http2, int], None], *values: tuple[int, int]) -> Converse:
    """Responds to each request with `respond`, after these settings."""

    def converse(connection: Connection) -> None:
        http2 = Http2(connection, frames.settings(*values))
        while True:
            respond(http2, http2.read_request())

    return converse


def always(response: Callable[[int], bytes], *values: tuple[int, int]) -> Converse:
    """Sends that to each request, which is on the stream that `response` is given."""
    return each(lambda http2, stream: http2.send(response(stream)), *values)


def then(
    response: Callable[[int], bytes], end: Callable[[Connection], None]
) -> Converse:
    """Sends that to the first request, then does something else."""

    def respond(http2: Http2, stream: int) -> None:
        http2.send(response(stream))
        end(http2.connection)

    return each(respond)


def flood(
    piece: Callable[[int], bytes], before: Callable[[int], bytes] = lambda _: b""
) -> Converse:
    """Responds to the first request with `before`, and then with the same frames without end."""

    def respond(http2: Http2, stream: int) -> None:
        http2.send(before(stream))
        some = piece(stream)
        some *= max(1, 60_000 // len(some))
        while True:
            http2.send(some)

    return each(respond)
