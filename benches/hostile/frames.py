"""HTTP/2 frames (RFC 9113) and header blocks (RFC 7541), valid or not."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

(
    DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION,
) = range(10)  # fmt: skip
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8

ERROR_CODES = {
    "NO_ERROR": 0,
    "PROTOCOL_ERROR": 1,
    "INTERNAL_ERROR": 2,
    "REFUSED_STREAM": 7,
    "CANCEL": 8,
    "ENHANCE_YOUR_CALM": 11,
    "HTTP_1_1_REQUIRED": 13,
    "0xbad": 0xBAD,
}
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 3, 4, 5
ENABLE_PUSH = 2


def frame(
    kind: int,
    flags: int = 0,
    stream: int = 0,
    payload: bytes = b"",
    length: int | None = None,
) -> bytes:
    """A frame; `length` is what its header says, if that is not the payload's."""
    said = len(payload) if length is None else length
    return said.to_bytes(3) + bytes((kind, flags)) + number(stream) + payload


def number(value: int) -> bytes:
    return value.to_bytes(4)


def settings(*values: tuple[int, int]) -> bytes:
    payload = b"".join(name.to_bytes(2) + number(value) for name, value in values)
    return frame(SETTINGS, 0, 0, payload)


def goaway(last_stream: int, code: int = 0, debug: bytes = b"") -> bytes:
    return frame(GOAWAY, 0, 0, number(last_stream) + number(code) + debug)


def reset(stream: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, stream, number(code))


def integer(value: int, prefix: int, first: int) -> bytes:
    """An integer of HPACK, in the last `prefix` bits of a byte that begins with those of `first`."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes((first | value,))
    encoded = [first | most]
    value -= most
    while value >= 128:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes((*encoded, value))


def text(value: bytes) -> bytes:
    return integer(len(value), 7, 0) + value


def block(*fields: tuple[bytes, bytes]) -> bytes:
    """A header block of literals that are not added to the table."""
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def remembered(name: bytes, value: bytes) -> bytes:
    """A literal that is added to the table, whose index 62 it takes."""
    return b"\x40" + text(name) + text(value)


def headers(stream: int, fields: bytes, end: bool = False) -> bytes:
    """A header block in a frame of its own."""
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, fields)


def data(stream: int, body: bytes, end: bool = False) -> bytes:
    return frame(DATA, END_STREAM if end else 0, stream, body)


def status(code: bytes, *more: tuple[bytes, bytes]) -> bytes:
    return block((b":status", code), *more)


def hello(stream: int) -> bytes:
    """A whole response."""
    head = status(b"200", (b"content-length", b"5"))
    return headers(stream, head) + data(stream, b"hello", end=True)
