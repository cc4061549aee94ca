"""What servers do wrong with HTTP/2, over plain TCP."""

import tempfile

import frames
from behaviour import CLOSE, HANG, RESET, Behaviour, Converse, Group, accepted_then
from frames import block, data, frame, goaway, headers, hello, number, reset, status
from http2_connection import Http2, always, each, flood, then
from server import Connection

FINISH = Connection.finish
STREAMS = ["--streams-per-connection", "10"]
LENGTH = 100_000
BODY = tempfile.NamedTemporaryFile()
BODY.write(b"x" * LENGTH)
BODY.flush()
POST = ["-X", "POST", "-b", f"@{BODY.name}"]
PEERS_POST = {"oha": ["-m", "POST", "-D", BODY.name], "h2load": ["-d", BODY.name]}
OK = status(b"200")
LIMITED = " ".join(STREAMS)


def begins(first: bytes, end=HANG) -> Converse:
    """Sends this instead of its settings."""

    def converse(connection: Connection) -> None:
        Http2(connection, first)
        end(connection)

    return converse


def http1(response: bytes) -> Converse:
    """Knows HTTP/1.1 only, for which the preface is a request."""

    def converse(connection: Connection) -> None:
        connection.read_request()
        connection.send(response)
        connection.close()

    return converse


def goes_away_at_once(last_stream: int, code: int, debug: bytes = b"") -> Converse:
    away = goaway(last_stream, code, debug)
    return begins(frames.settings() + away, CLOSE)


def limit_raised(connection: Connection) -> None:
    """Allows no stream at first, and one after 20 ms."""
    http2 = Http2(connection, frames.settings((frames.MAX_CONCURRENT_STREAMS, 0)))
    connection.pause(0.02)
    http2.send(frames.settings((frames.MAX_CONCURRENT_STREAMS, 1)))
    while True:
        http2.send(hello(http2.read_request()))


def refuses_every_other(connection: Connection) -> None:
    http2 = Http2(connection)
    while True:
        http2.send(reset(http2.read_request(), frames.ERROR_CODES["REFUSED_STREAM"]))
        http2.send(hello(http2.read_request()))


def opens_window(step: int) -> Converse:
    """Lets the client send `step` more bytes each millisecond."""

    def converse(connection: Connection) -> None:
        http2 = Http2(connection, frames.settings((frames.INITIAL_WINDOW_SIZE, 0)))
        while True:
            stream = http2.read_head()
            for granted in range(0, LENGTH, step):
                more = number(min(step, LENGTH - granted))
                for window in (0, stream):
                    http2.send(frame(frames.WINDOW_UPDATE, 0, window, more))
                connection.pause(0.001)
            http2.read_end(stream)
            http2.send(hello(stream))

    return converse


def responds_to_head(after) -> Converse:
    """Responds before the body has come, and then sends something else."""

    def converse(connection: Connection) -> None:
        http2 = Http2(connection, frames.settings((frames.INITIAL_WINDOW_SIZE, 0)))
        while True:
            stream = http2.read_head()
            http2.send(hello(stream) + after(stream))

    return converse


def by_byte(http2: Http2, stream: int) -> None:
    response = hello(stream)
    for at in range(len(response)):
        http2.send(response[at : at + 1])
        http2.connection.pause(0.001)


def pings_unread(connection: Connection) -> None:
    """Sends PING frames and never reads."""
    Http2(connection)
    while True:
        connection.send(frame(frames.PING, 0, 0, bytes(8)) * 4000)


def reads_all(piece: bytes) -> Converse:
    """Floods, but reads what the client sends."""

    def converse(connection: Connection) -> None:
        http2 = Http2(connection)
        while True:
            http2.send(piece * 100)
            while connection.waits_for_request(0):
                connection.read_some()

    return converse


def head(fields: bytes) -> Converse:
    """A response with this header block, and a body of 5 bytes."""
    return always(lambda it: headers(it, fields) + data(it, b"hello", end=True))


def padded(stream: int) -> bytes:
    padding = frame(
        frames.DATA, frames.PADDED | frames.END_STREAM, stream, b"\x06hello"
    )
    return headers(stream, OK) + padding


def interrupted(by) -> Converse:
    def response(stream: int) -> bytes:
        begun = frame(frames.HEADERS, 0, stream, OK)
        return (
            begun + by(stream) + frame(frames.CONTINUATION, frames.END_HEADERS, stream)
        )

    return always(response)


def hpack_bomb(stream: int) -> bytes:
    """A field of 4,000 bytes, 16,000 times: 64 MB in a block of 20 KB."""
    fields = b"\x88" + frames.remembered(b"x", b"y" * 4000) + b"\xbe" * 16_000
    first, rest = fields[:16_000], fields[16_000:]
    begun = frame(frames.HEADERS, frames.END_STREAM, stream, first)
    return begun + frame(frames.CONTINUATION, frames.END_HEADERS, stream, rest)


def hpack(fields: bytes) -> Converse:
    return always(lambda it: headers(it, b"\x88" + fields, end=True))


def goes_away_after(code: int) -> Converse:
    return then(lambda it: hello(it) + goaway(it, code), FINISH)


def interim(code: bytes) -> Converse:
    return always(lambda it: headers(it, status(code)) + hello(it))


SHORT = data(1, b"hello")[:-2]
REFUSED = "not processed, so Prony sends it again once, over a new connection"
ORDERLY = "an orderly end: no error, but a reconnect"

GROUPS = [
    Group("HTTP/2: beginning", [
        Behaviour("nothing wrong, for comparison", always(hello)),
        Behaviour(f"nothing wrong, `{LIMITED}`", always(hello), STREAMS),
        Behaviour("knows only HTTP/1.1: 400", http1(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")),
        Behaviour("knows only HTTP/1.1: 505", http1(b"HTTP/1.1 505 No\r\nContent-Length: 0\r\n\r\n")),
        Behaviour("knows only HTTP/1.1: closes", http1(b"")),
        Behaviour("sends first: `SSH-2.0-x`", begins(b"SSH-2.0-OpenSSH_9.9 and more\r\n")),
        Behaviour("no SETTINGS first, but a response", begins(hello(1))),
        Behaviour("SETTINGS never come", begins(b"")),
        Behaviour("SETTINGS of 5 bytes", begins(frame(frames.SETTINGS, payload=bytes(5)))),
        Behaviour("SETTINGS on a stream", begins(frame(frames.SETTINGS, 0, 1))),
        Behaviour("SETTINGS: unknown ones", always(hello, (0xBAD, 0xBAD))),
        Behaviour("SETTINGS: INITIAL_WINDOW_SIZE 2³¹", always(hello, (frames.INITIAL_WINDOW_SIZE, 1 << 31))),
        Behaviour("SETTINGS: MAX_FRAME_SIZE 1", always(hello, (frames.MAX_FRAME_SIZE, 1))),
        Behaviour("SETTINGS: ENABLE_PUSH 1", always(hello, (frames.ENABLE_PUSH, 1))),
        Behaviour("MAX_CONCURRENT_STREAMS 0", always(hello, (frames.MAX_CONCURRENT_STREAMS, 0)), note="ok: what was sent before the setting arrived"),
        Behaviour("MAX_CONCURRENT_STREAMS 0, and 1 after 20 ms", limit_raised),
        Behaviour(f"MAX_CONCURRENT_STREAMS 1, `{LIMITED}`", always(hello, (frames.MAX_CONCURRENT_STREAMS, 1)), STREAMS),
    ]),
    Group("HTTP/2: end", [
        Behaviour("GOAWAY after each response", goes_away_after(0), note=ORDERLY),
        Behaviour("GOAWAY with ENHANCE_YOUR_CALM after each response", goes_away_after(11)),
        Behaviour("GOAWAY at once", goes_away_at_once(0, 0), note=REFUSED),
        Behaviour("GOAWAY with ENHANCE_YOUR_CALM at once", goes_away_at_once(0, 11, b"too many pings"), note=REFUSED),
        Behaviour("GOAWAY instead of a response: processed, PROTOCOL_ERROR", then(lambda it: goaway(it, 1), CLOSE)),
        Behaviour("GOAWAY instead of a response: not processed", then(lambda it: goaway(0), CLOSE), note=REFUSED),
        Behaviour("GOAWAY, and then nothing", then(lambda it: goaway(it), HANG)),
        Behaviour("GOAWAY, and then the response", then(lambda it: goaway(it) + hello(it), FINISH), note=ORDERLY),
        Behaviour("GOAWAY of 7 bytes", always(lambda it: frame(frames.GOAWAY, payload=bytes(7)))),
        Behaviour("GOAWAY again and again", flood(lambda it: goaway(it))),
        Behaviour("closes after each response, without GOAWAY", then(hello, FINISH), note=ORDERLY),
        Behaviour("resets the connection after each response", then(hello, RESET), note=ORDERLY),
        Behaviour("closes instead of a response", then(lambda _: b"", CLOSE)),
        Behaviour("closes after the head", then(lambda it: headers(it, OK), CLOSE)),
        Behaviour("closes within a frame", then(lambda it: headers(it, OK) + SHORT, CLOSE)),
        Behaviour("resets the connection within a frame", then(lambda it: headers(it, OK) + SHORT, RESET)),
        Behaviour("closes right after accepting", accepted_then(CLOSE)),
    ]),
    Group("HTTP/2: streams", [
        *[Behaviour(f"RST_STREAM instead of a response: {name}", always(lambda it, code=code: reset(it, code)),
                    note="not processed, so Prony sends it again once" if name == "REFUSED_STREAM" else "")
          for name, code in frames.ERROR_CODES.items()],
        Behaviour("RST_STREAM with REFUSED_STREAM for every other request", refuses_every_other),
        Behaviour("RST_STREAM within the body", always(lambda it: headers(it, OK) + data(it, b"he") + reset(it, 2))),
        Behaviour("RST_STREAM with NO_ERROR after the response", always(lambda it: hello(it) + reset(it, 0))),
        Behaviour("RST_STREAM of 3 bytes", always(lambda it: frame(frames.RST_STREAM, 0, it, bytes(3)))),
        Behaviour("DATA on a stream that was never opened", always(lambda it: data(it + 2, b"hello"))),
        Behaviour("HEADERS on an even stream", always(lambda it: headers(2, OK))),
        Behaviour("DATA on a stream that has ended", always(lambda it: hello(it) + data(it, b"!"))),
        Behaviour("a second response on the same stream", always(lambda it: hello(it) + hello(it))),
        Behaviour("DATA on stream 0", always(lambda it: data(0, b"hello"))),
        Behaviour("PING on a stream", always(lambda it: frame(frames.PING, 0, it, bytes(8)))),
        Behaviour("PING of 7 bytes", always(lambda it: frame(frames.PING, 0, 0, bytes(7)))),
        Behaviour("a frame of 16,385 bytes", always(lambda it: headers(it, OK) + data(it, bytes(16_385), end=True))),
        Behaviour("a frame that claims 16 MB", always(lambda it: frame(frames.DATA, 0, it, length=(1 << 24) - 1))),
        Behaviour("more padding than payload", always(padded)),
        Behaviour("frames of an unknown type", always(lambda it: frame(0xBA, 0xFF, it, b"x") + hello(it)),
                  note="RFC 9113, 5.5: ignored"),
        Behaviour("PUSH_PROMISE", always(lambda it: frame(frames.PUSH_PROMISE, 4, it, number(2) + OK) + hello(it)),
                  note="Prony disables pushes"),
    ]),
    Group("HTTP/2: header blocks", [
        Behaviour("no `:status`", head(block((b"a", b"b")))),
        Behaviour("`:status` twice", head(status(b"200", (b":status", b"200")))),
        Behaviour("`:status` after another field", head(block((b"a", b"b"), (b":status", b"200")))),
        Behaviour("`:status: 20`", head(status(b"20"))),
        Behaviour("`:status: 2000`", head(status(b"2000"))),
        Behaviour("`:path` in a response", head(status(b"200", (b":path", b"/")))),
        Behaviour("a name in upper case", head(status(b"200", (b"Server", b"x")))),
        Behaviour("an empty name", head(status(b"200", (b"", b"x")))),
        Behaviour("`connection: close`", head(status(b"200", (b"connection", b"close")))),
        Behaviour("CR LF in a value", head(status(b"200", (b"x", b"a\r\nb: c")))),
        Behaviour("`:status` in trailers", always(
            lambda it: headers(it, OK) + data(it, b"hello") + headers(it, OK, end=True))),
        Behaviour("trailers that do not end the stream", always(
            lambda it: headers(it, OK) + data(it, b"hello") + headers(it, block((b"a", b"b"))))),
        Behaviour("trailers", always(
            lambda it: headers(it, OK) + data(it, b"hello") + headers(it, block((b"a", b"b")), end=True))),
        Behaviour("PING within a header block", interrupted(lambda _: frame(frames.PING, 0, 0, bytes(8)))),
        Behaviour("DATA within a header block", interrupted(lambda it: data(it, b"hello"))),
        Behaviour("CONTINUATION of another stream",
                  interrupted(lambda it: frame(frames.CONTINUATION, 4, it + 2))),
        Behaviour("CONTINUATION of nothing", always(lambda it: frame(frames.CONTINUATION, 4, it, OK))),
        Behaviour("a list of 64 MB in a block of 20 KB", always(hpack_bomb)),
        Behaviour("an index beyond the table", hpack(b"\xff\xff\xff\x7f")),
        Behaviour("an integer without end", hpack(b"\xff" * 100)),
        Behaviour("a string longer than its block", hpack(b"\0\x01a\x7f\xff\x7fx")),
        Behaviour("Huffman code with an end-of-string symbol", hpack(b"\0\x01a\x84" + b"\xff" * 4)),
        Behaviour("a table larger than allowed", always(
            lambda it: headers(it, b"\x3f\xff\xff\x7f\x88", end=True))),
        Behaviour("100 before the response", interim(b"100")),
        Behaviour("101", interim(b"101")),
        Behaviour("103 that ends the stream", always(lambda it: headers(it, status(b"103"), end=True))),
    ]),
    Group("HTTP/2: bodies and windows", [
        Behaviour("DATA before the head", always(lambda it: data(it, b"hello", end=True))),
        Behaviour("`content-length` too long by one", always(
            lambda it: headers(it, status(b"200", (b"content-length", b"6"))) + data(it, b"hello", end=True))),
        Behaviour("`content-length` too short by one", always(
            lambda it: headers(it, status(b"200", (b"content-length", b"4"))) + data(it, b"hello", end=True))),
        Behaviour("`content-length` 5 and 6",
                  head(status(b"200", (b"content-length", b"5"), (b"content-length", b"6")))),
        Behaviour("204 with a body", head(status(b"204"))),
        Behaviour("responds before the request's body, and then RST_STREAM with NO_ERROR",
                  responds_to_head(lambda it: reset(it, 0)), POST, note="RFC 9113, 8.1 allows it, but a load would measure a response to nothing",
                  peers=PEERS_POST),
        Behaviour("takes no byte of the request's body", each(lambda *_: None, (frames.INITIAL_WINDOW_SIZE, 0)), POST,
                  peers=PEERS_POST),
        Behaviour("opens the window for the request's body by 1,000 bytes a millisecond", opens_window(1000), POST,
                  peers=PEERS_POST),
        Behaviour("WINDOW_UPDATE of 0 for the connection",
                  always(lambda it: frame(frames.WINDOW_UPDATE, 0, 0, number(0)))),
        Behaviour("WINDOW_UPDATE of 0 for a stream",
                  always(lambda it: frame(frames.WINDOW_UPDATE, 0, it, number(0)))),
        Behaviour("WINDOW_UPDATE beyond 2³¹−1",
                  always(lambda it: frame(frames.WINDOW_UPDATE, 0, 0, number((1 << 31) - 1)))),
        Behaviour("never responds", each(lambda *_: None)),
        Behaviour("stalls within the body", always(lambda it: headers(it, OK) + data(it, b"he"))),
        Behaviour("one byte per packet, 1 ms apart", each(by_byte)),
        Behaviour("an endless body", flood(lambda it: data(it, bytes(16_000)), lambda it: headers(it, OK)),
                  note="malformed: it goes on after RST_STREAM"),
    ]),
    Group("HTTP/2: floods", [
        Behaviour("SETTINGS", reads_all(frames.settings())),
        Behaviour("PING", reads_all(frame(frames.PING, 0, 0, bytes(8)))),
        Behaviour("PING, whose acknowledgements it does not read", pings_unread),
        Behaviour("PRIORITY", flood(lambda it: frame(frames.PRIORITY, 0, it, bytes(5)))),
        Behaviour("WINDOW_UPDATE", flood(lambda it: frame(frames.WINDOW_UPDATE, 0, it, number(1)))),
        Behaviour("RST_STREAM", flood(lambda it: reset(it, 8))),
        Behaviour("unknown frames", flood(lambda it: frame(0xBA, 0, it))),
        Behaviour("empty DATA", flood(lambda it: data(it, b""), lambda it: headers(it, OK))),
        Behaviour("DATA that is only padding",
                  flood(lambda it: frame(frames.DATA, 8, it, b"\xff" + bytes(255)), lambda it: headers(it, OK))),
        Behaviour("CONTINUATION", flood(lambda it: frame(frames.CONTINUATION, 0, it, block((b"a", b"b"))),
                                        lambda it: frame(frames.HEADERS, 0, it, OK))),
        Behaviour("empty CONTINUATION", flood(lambda it: frame(frames.CONTINUATION, 0, it),
                                              lambda it: frame(frames.HEADERS, 0, it, OK))),
        Behaviour("103", flood(lambda it: headers(it, status(b"103")))),
    ]),
]  # fmt: skip

for group in GROUPS:
    group.peers = ("oha", "h2load")
    group.arguments = {"Prony": ["--http2"], "oha": ["--http2"]}
    group.quotes_prony = True
