"""What servers do wrong with gRPC, over HTTP/2 on plain TCP."""

import gzip
from pathlib import Path

import frames
from behaviour import CLOSE, Behaviour, Converse, Group
from frames import data, headers, status
from http2_connection import Http2, always, each, then
from server import Connection

PROTO = Path(__file__).resolve().parents[2] / "workloads/echo.proto"
METHOD = "prony.echo.v1.Echo/Unary"
TYPE = (b"content-type", b"application/grpc")
HEAD = status(b"200", TYPE)
# `payload: "hello"`
MESSAGE = b"\x0a\x05hello"


def message(content: bytes, flag: int = 0, length: int | None = None) -> bytes:
    """A message; `length` is what its prefix says, if that is not the message's."""
    said = len(content) if length is None else length
    return bytes((flag,)) + said.to_bytes(4) + content


def trailers(stream: int, *fields: tuple[bytes, bytes]) -> bytes:
    return headers(stream, frames.block(*fields), end=True)


def call(body: bytes, *fields: tuple[bytes, bytes], head: bytes = HEAD) -> Converse:
    """A response with this body and these trailers."""

    def response(stream: int) -> bytes:
        pieces = [body[at : at + 16_000] for at in range(0, len(body), 16_000)]
        sent = b"".join(data(stream, piece) for piece in pieces)
        return headers(stream, head) + sent + trailers(stream, *fields)

    return always(response)


def only_trailers(*fields: tuple[bytes, bytes]) -> Converse:
    return always(lambda it: headers(it, status(b"200", TYPE, *fields), end=True))


def page(code: bytes) -> Converse:
    head = status(code, (b"content-type", b"text/html"))
    return always(lambda it: headers(it, head) + data(it, b"<html>No</html>", end=True))


def late(http2: Http2, stream: int) -> None:
    """Gives up after 50 ms, when the deadline has passed."""
    http2.connection.pause(0.05)
    http2.send(headers(stream, status(b"200", TYPE, (b"grpc-status", b"4")), end=True))


def endless(http2: Http2, stream: int) -> None:
    http2.send(headers(stream, HEAD))
    while True:
        http2.send(data(stream, message(b"")) * 1000)


def http1(connection: Connection) -> None:
    """Takes the preface for a request."""
    connection.read_request()
    connection.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    connection.close()


OK = (b"grpc-status", b"0")
HELLO = message(MESSAGE)
ENCODED = (b"grpc-message", b"no%20way:%20%E2%82%AC%")
FLAGS = {"Prony": ["--grpc", METHOD], "ghz": ["--insecure", "--call", METHOD]}
WITH_PROTO = {name: [*flags, "--proto", str(PROTO)] for name, flags in FLAGS.items()}

GROUPS = [
    Group("gRPC", [
        Behaviour("nothing wrong, for comparison", call(HELLO, OK)),
        Behaviour("no trailers", always(lambda it: headers(it, HEAD) + data(it, HELLO, end=True)),
                  note="gRPC: a missing status is UNKNOWN"),
        Behaviour("trailers without `grpc-status`", call(HELLO, (b"a", b"b")), note="gRPC: a missing status is UNKNOWN"),
        Behaviour("only trailers: UNAVAILABLE", only_trailers((b"grpc-status", b"14"))),
        Behaviour("only trailers: OK", only_trailers(OK)),
        Behaviour("unknown method: UNIMPLEMENTED", only_trailers((b"grpc-status", b"12"),
                  (b"grpc-message", b"unknown method"))),
        Behaviour("a percent-encoded `grpc-message`, with a lone `%`", only_trailers((b"grpc-status", b"7"), ENCODED)),
        Behaviour("`grpc-status: 99`", call(HELLO, (b"grpc-status", b"99"))),
        Behaviour("`grpc-status: OK`", call(HELLO, (b"grpc-status", b"OK"))),
        Behaviour("`grpc-status: -1`", call(HELLO, (b"grpc-status", b"-1"))),
        Behaviour("`grpc-status` in the head too, and another one", call(
            HELLO, OK, head=status(b"200", TYPE, (b"grpc-status", b"13"))), note="only that of the trailers counts"),
        Behaviour("INTERNAL after a whole message", call(HELLO, (b"grpc-status", b"13"))),
        Behaviour("a compressed message", call(message(gzip.compress(MESSAGE), 1), OK),
                  note="no compression was offered"),
        Behaviour("a compression flag of 7", call(message(MESSAGE, 7), OK)),
        Behaviour("a message of 4 MiB and a byte", call(message(bytes((4 << 20) + 1)), OK),
                  # It takes long to send.
                  ["--timeout", "3s"], note="the limit of gRPC's own clients"),
        Behaviour("a message that claims 4 GiB", call(message(MESSAGE, length=0xFFFF_FFFF), OK)),
        Behaviour("a message cut short", call(message(MESSAGE, length=20), OK)),
        Behaviour("a prefix cut short", call(HELLO[:3], OK)),
        Behaviour("two messages", call(HELLO * 2, OK), note="the call is unary"),
        Behaviour("a message and a byte", call(HELLO + b"\0", OK)),
        Behaviour("OK without a message", call(b"", OK)),
        Behaviour("messages without end", each(endless)),
        Behaviour("404 with HTML", page(b"404")),
        Behaviour("502 with HTML", page(b"502")),
        Behaviour("200 with HTML", page(b"200")),
        Behaviour("`content-type: application/grpc-web`", call(
            HELLO, OK, head=status(b"200", (b"content-type", b"application/grpc-web")))),
        Behaviour("no `content-type`", call(HELLO, OK, head=status(b"200"))),
        Behaviour("gives up after `--grpc-timeout 50ms`", each(late), ["--grpc-timeout", "50ms"]),
        Behaviour("never responds", each(lambda *_: None)),
        Behaviour("RST_STREAM with CANCEL", always(lambda it: frames.reset(it, 8))),
        Behaviour("closes within the message", then(lambda it: headers(it, HEAD) + data(it, HELLO[:8]), CLOSE)),
        Behaviour("knows only HTTP/1.1", http1),
    ], peers=("ghz",), arguments=WITH_PROTO, quotes_prony=True),
    Group("gRPC without `--proto`", [
        Behaviour("no reflection: UNIMPLEMENTED", only_trailers((b"grpc-status", b"12"))),
        Behaviour("no reflection: UNAVAILABLE", only_trailers((b"grpc-status", b"14"), (b"grpc-message", b"later"))),
        Behaviour("404 with HTML", page(b"404")),
        Behaviour("reflection that is not protobuf", call(message(b"\xff" * 20), OK)),
        Behaviour("reflection without a message", call(b"", OK)),
        Behaviour("reflection that never responds", each(lambda *_: None)),
        Behaviour("knows only HTTP/1.1", http1),
    ], peers=("ghz",), arguments=FLAGS, quotes_prony=True),
]  # fmt: skip
