"""What servers do wrong with HTTP/1.1, and a few things that only look wrong."""

import socket
from collections.abc import Callable

from behaviour import CLOSE, HANG, RESET, Behaviour, Converse, Group, accepted_then
from server import Connection

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def always(response: bytes) -> Converse:
    """Sends the same response to each request."""

    def converse(connection: Connection) -> None:
        while connection.read_request():
            connection.send(response)

    return converse


def then(response: bytes, end: Callable[[Connection], None]) -> Converse:
    """Sends this response to the first request, then does something else."""

    def converse(connection: Connection) -> None:
        connection.read_request()
        connection.send(response)
        end(connection)

    return converse


def head(
    *lines: bytes, body: bytes = b"", status: bytes = b"HTTP/1.1 200 OK"
) -> Converse:
    return always(b"\r\n".join((status, *lines, b"", body)))


def length(value: bytes, body: bytes = b"hello") -> Converse:
    return head(b"Content-Length: " + value, body=body)


def chunks(data: bytes) -> Converse:
    return always(CHUNKED + data)


def pieces(parts: list[bytes], seconds: float) -> Converse:
    """Sends each part in its own packet."""

    def converse(connection: Connection) -> None:
        while connection.read_request():
            for part in parts:
                connection.send(part)
                connection.pause(seconds)

    return converse


def endless(beginning: bytes, piece: bytes) -> Converse:
    def converse(connection: Connection) -> None:
        connection.read_request()
        connection.send(beginning)
        while True:
            connection.send(piece)

    return converse


def nth(every: int, usual: bytes, other: bytes) -> Converse:
    """Sends the other response to every nth request of a connection."""

    def converse(connection: Connection) -> None:
        number = 0
        while connection.read_request():
            number += 1
            connection.send(other if number % every == 0 else usual)

    return converse


def stalls_after(count: int) -> Converse:
    def converse(connection: Connection) -> None:
        for _ in range(count):
            connection.read_request()
            connection.send(HELLO)
        connection.hang()

    return converse


def urgent(connection: Connection) -> None:
    while connection.read_request():
        connection.send(HELLO[:20])
        connection.send(b"!", socket.MSG_OOB)
        connection.send(HELLO[20:])


def impatient(connection: Connection) -> None:
    """Closes with a 408 if no request comes for 5 ms."""
    connection.read_request()
    connection.send(HELLO)
    while connection.waits_for_request(0.005):
        connection.read_request()
        connection.send(HELLO)
    connection.send(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
    connection.close()


def shut(response: bytes) -> Converse:
    """Closes only its sending side after a response, and ignores further requests."""

    def converse(connection: Connection) -> None:
        connection.read_request()
        connection.send(response)
        connection.half_close()
        connection.hang()

    return converse


def at_once(data: bytes, end: Callable[[Connection], None]) -> Converse:
    """Sends before it gets a request."""

    def converse(connection: Connection) -> None:
        connection.send(data)
        end(connection)

    return converse


def by_byte(response: bytes, seconds: float) -> Converse:
    return pieces([response[at : at + 1] for at in range(len(response))], seconds)


LINES = [
    b"HTTP/1.1 200 OK\r\n",
    *[b"X: y\r\n"] * 40,
    b"Content-Length: 5\r\n\r\n",
    b"hello",
]
LENIENT = "RFC 9112, 2.2 allows it"
AS_5_2 = "RFC 9112, 5.2: a fold is a space"
HALF = "the extra bytes fail the next request over that connection"
EXPECT = ["--expect-body", "hello", "--check-every", "1"]

GROUPS = [
    Group("Head", [
        Behaviour("nothing wrong, for comparison", always(HELLO)),
        Behaviour("lines that end in LF alone", always(HELLO.replace(b"\r\n", b"\n")), note=LENIENT),
        Behaviour("`Content-Length:` with its value on a folded line", length(b"\r\n 5"), note=AS_5_2),
        Behaviour("a folded line before any field", head(b" X: y", b"Content-Length: 5", body=b"hello")),
        Behaviour("`HTTP/1.2`", head(b"Content-Length: 5", body=b"hello", status=b"HTTP/1.2 200 OK"),
                  note="read as 1.1 (RFC 9110, 2.5)"),
        Behaviour("`HTTP/2 200` as text", head(b"Content-Length: 5", body=b"hello", status=b"HTTP/2 200 OK")),
        Behaviour("`ICY 200 OK`", head(b"Content-Length: 5", body=b"hello", status=b"ICY 200 OK")),
        Behaviour("no reason, and no space before it", head(b"Content-Length: 5", body=b"hello", status=b"HTTP/1.1 200"),
                  note="harmless"),
        Behaviour("status `20`", head(b"Content-Length: 5", body=b"hello", status=b"HTTP/1.1 20 OK")),
        Behaviour("an empty line before the status line", always(b"\r\n" + HELLO),
                  note="it may be left over from the last response"),
        Behaviour("no head at all: HTML", then(b"<html>hello</html>\n", CLOSE)),
        Behaviour("a line without a colon", head(b"no colon", b"Content-Length: 5", body=b"hello")),
        Behaviour("a space before the colon", head(b"Content-Length : 5", body=b"hello")),
        Behaviour("NUL in a value", head(b"X: a\0b", b"Content-Length: 5", body=b"hello")),
        Behaviour("a bare CR in a value", head(b"X: a\rb", b"Content-Length: 5", body=b"hello")),
        Behaviour("a header of 70 KiB", head(b"X: " + b"y" * 70 * 1024, b"Content-Length: 5", body=b"hello"),
                  note="Prony reads heads of at most 64 KiB"),
        Behaviour("an endless head", endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000)),
    ]),
    Group("Status", [
        Behaviour("404", head(b"Content-Length: 5", body=b"hello", status=b"HTTP/1.1 404 Not Found")),
        Behaviour("500", head(b"Content-Length: 5", body=b"hello", status=b"HTTP/1.1 500 Oops")),
        Behaviour("503 to every fourth request", nth(4, HELLO, HELLO.replace(b"200 OK", b"503 No"))),
        Behaviour("100 before the response", always(b"HTTP/1.1 100 Continue\r\n\r\n" + HELLO)),
        Behaviour("100 again and again", endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)),
        Behaviour("101 without a request for it", head(b"Upgrade: x", status=b"HTTP/1.1 101 Switching Protocols")),
        Behaviour("204 with a body", head(b"Content-Length: 5", body=b"hello", status=b"HTTP/1.1 204 No Content"),
                  note="204 has no body, so these bytes are extra"),
        Behaviour("304 with a Content-Length and no body", head(b"Content-Length: 5", status=b"HTTP/1.1 304 Same")),
    ]),
    Group("Content-Length", [
        Behaviour("`5, 5`", length(b"5, 5"), note="RFC 9112, 6.3: equal values are one"),
        Behaviour("5 and 6", head(b"Content-Length: 5", b"Content-Length: 6", body=b"hello")),
        Behaviour("`-5`", length(b"-5")),
        Behaviour("`5 bytes`", length(b"5 bytes")),
        Behaviour("5 and a form feed", length(b"5\x0c")),
        Behaviour("2⁶⁴", length(b"18446744073709551616")),
        Behaviour("too long by one, then closes", then(HELLO[:-1], CLOSE)),
        Behaviour("too long by one, then nothing", then(HELLO[:-1], HANG)),
        Behaviour("too short by one", length(b"4")),
        Behaviour("too short by two: CR LF after the body", always(HELLO + b"\r\n")),
        Behaviour("too short by two, which come 5 ms later", pieces([HELLO, b"!!"], 0.005), note=HALF),
        Behaviour("a second response to each request, together with the first", always(HELLO + HELLO)),
        Behaviour("none, and closes", then(b"HTTP/1.1 200 OK\r\n\r\nhello", CLOSE), note="the close ends the body"),
        Behaviour("none, and does not close", always(b"HTTP/1.1 200 OK\r\n\r\nhello")),
    ]),
    Group("Chunks", [
        Behaviour("nothing wrong, for comparison", chunks(b"5\r\nhello\r\n0\r\n\r\n")),
        Behaviour("a size one too large", chunks(b"6\r\nhello\r\n0\r\n\r\n")),
        Behaviour("a size one too small", chunks(b"4\r\nhello\r\n0\r\n\r\n")),
        Behaviour("a size that is not a number", chunks(b"five\r\nhello\r\n0\r\n\r\n")),
        Behaviour("a size of 20 digits, 19 of them 0", chunks(b"0" * 19 + b"5\r\nhello\r\n0\r\n\r\n")),
        Behaviour("a size of 2⁶⁴", chunks(b"10000000000000000\r\nhello\r\n0\r\n\r\n")),
        Behaviour("blanks after the size", chunks(b"5  \r\nhello\r\n0  \r\n\r\n"),
                  note="tolerated: some servers pad sizes"),
        Behaviour("junk after the size and a space", chunks(b"5 x\r\nhello\r\n0\r\n\r\n")),
        Behaviour("a bare CR after the size", chunks(b"5\rx\r\nhello\r\n0\r\n\r\n")),
        Behaviour("an extension", chunks(b"5;a=b\r\nhello\r\n0\r\n\r\n")),
        Behaviour("LF alone after the size", chunks(b"5\nhello\r\n0\r\n\r\n"),
                  note="RFC 9112 does not allow it in chunks"),
        Behaviour("LF alone after the data", chunks(b"5\r\nhello\n0\r\n\r\n"), note="it could be data"),
        Behaviour("a trailer", chunks(b"5\r\nhello\r\n0\r\nX: y\r\n\r\n")),
        Behaviour("a trailer without a colon", chunks(b"5\r\nhello\r\n0\r\nhello\r\n\r\n")),
        Behaviour("closes before the last chunk", then(CHUNKED + b"5\r\nhello\r\n", CLOSE)),
        Behaviour("never sends the last chunk", then(CHUNKED + b"5\r\nhello\r\n", HANG)),
        Behaviour("endless chunks", endless(CHUNKED, b"5\r\nhello\r\n" * 1000)),
        Behaviour("a Content-Length beside them", head(b"Transfer-Encoding: chunked", b"Content-Length: 3",
                  body=b"5\r\nhello\r\n0\r\n\r\n"), note="RFC 9112, 6.3: the chunks win"),
        Behaviour("in HTTP/1.0 with keep-alive", head(b"Connection: keep-alive", b"Transfer-Encoding: chunked",
                  body=b"5\r\nhello\r\n0\r\n\r\n", status=b"HTTP/1.0 200 OK"),
                  note="RFC 9112, 6.1: read, and the connection closed"),
    ]),
    Group("Closing", [
        Behaviour("closes after each response, without notice", then(HELLO, CLOSE), note="no error, but a reconnect"),
        Behaviour("resets after each response", then(HELLO, RESET), note="no error, but a reconnect"),
        Behaviour("closes only its side after each response", shut(HELLO)),
        Behaviour("closes instead of a response", then(b"", CLOSE)),
        Behaviour("resets instead of a response", then(b"", RESET)),
        Behaviour("closes within the head", then(HELLO[:20], CLOSE)),
        Behaviour("resets within the body", then(HELLO[:-2], RESET)),
        Behaviour("closes right after accepting", accepted_then(CLOSE)),
        Behaviour("resets right after accepting", accepted_then(RESET)),
        Behaviour("408 and a close when a connection is idle for 5 ms", impatient, note="an orderly end"),
        Behaviour("sends first: `SSH-2.0-x`", at_once(b"SSH-2.0-x\r\n", HANG)),
        Behaviour("nobody listens", accepted_then(CLOSE), listens=False),
        Behaviour("listens and never accepts", accepted_then(HANG), accepts=False),
    ]),
    Group("Time", [
        Behaviour("never responds", then(b"", HANG)),
        Behaviour("stalls within the body", then(HELLO[:-2], HANG)),
        Behaviour("stalls after 5 responses", stalls_after(5)),
        Behaviour("one byte per packet, 1 ms apart", by_byte(HELLO, 0.001)),
        Behaviour("one line per packet, 1 ms apart", pieces(LINES, 0.001)),
        Behaviour("a byte every 50 ms, longer than the timeout in total", by_byte(HELLO, 0.05),
                  note="the timeout applies to the whole response"),
        Behaviour("an endless body", endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536)),
        Behaviour("urgent data in the head", urgent),
    ]),
    Group("Content", [
        Behaviour("another body of the same length", always(HELLO.replace(b"hello", b"jello")), EXPECT,
                  note="only Prony knows what to expect"),
        Behaviour("another body in every 10th response", nth(10, HELLO, HELLO.replace(b"hello", b"jello")), EXPECT,
                  note="only Prony knows what to expect"),
        Behaviour("another length", always(HELLO.replace(b": 5", b": 4")[:-1]), EXPECT,
                  note="only Prony knows what to expect"),
    ]),
]  # fmt: skip
