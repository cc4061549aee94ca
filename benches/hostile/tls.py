"""What servers do wrong with TLS, with HTTP/1.1 inside."""

import os
import ssl
from collections.abc import Callable
from functools import cache
from pathlib import Path

import certificates
from behaviour import CLOSE, HANG, RESET, Behaviour, Converse, Group
from http1 import HELLO
from server import Connection
from tls_connection import TlsConnection

Adjust = Callable[[ssl.SSLContext], None]

# Types of records.
CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, DATA = 20, 21, 22, 23
FATAL, WARNING = 2, 1
HANDSHAKE_FAILURE, INTERNAL_ERROR, UNRECOGNIZED_NAME, NO_APPLICATION_PROTOCOL = (
    40,
    80,
    112,
    120,
)
USER_CANCELED = 90

ENDLESS = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"


def right() -> Path:
    return certificates.signed("right")


# Made before the first load: that takes longer than clients wait.
CONTEXTS: list[Callable[[], ssl.SSLContext]] = []


def prepare() -> None:
    for context in CONTEXTS:
        context()


def over_tls(
    converse: Callable[[TlsConnection], None],
    chain: Callable[[], Path] = right,
    adjust: Adjust = lambda _: None,
) -> Converse:
    """Has that conversation over TLS, with this certificate and these settings."""

    @cache
    def context() -> ssl.SSLContext:
        made = certificates.context(chain())
        adjust(made)
        return made

    CONTEXTS.append(context)
    return lambda connection: converse(TlsConnection(connection, context()))


def hello(connection: TlsConnection) -> None:
    while connection.read_request():
        connection.send(HELLO)


def shows(chain: Callable[[], Path]) -> Converse:
    return over_tls(hello, chain)


def adjusted(adjust: Adjust) -> Converse:
    return over_tls(hello, right, adjust)


def versions(lowest: ssl.TLSVersion, highest: ssl.TLSVersion) -> Converse:
    def adjust(context: ssl.SSLContext) -> None:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version, context.maximum_version = lowest, highest

    return adjusted(adjust)


def ciphers(names: str) -> Converse:
    def adjust(context: ssl.SSLContext) -> None:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(names)

    return adjusted(adjust)


def requires_certificate(context: ssl.SSLContext) -> None:
    context.load_verify_locations(certificates.authority())
    context.verify_mode = ssl.CERT_REQUIRED


def requires_certificate_1_2(context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    requires_certificate(context)


def tickets(count: int) -> Converse:
    def adjust(context: ssl.SSLContext) -> None:
        context.num_tickets = count

    return adjusted(adjust)


def record(kind: int, payload: bytes, length: int | None = None) -> bytes:
    said = len(payload) if length is None else length
    return bytes((kind, 3, 3)) + said.to_bytes(2) + payload


def alert(description: int, level: int = FATAL) -> bytes:
    return record(ALERT, bytes((level, description)))


def instead(response: bytes, end: Callable[[Connection], None] = CLOSE) -> Converse:
    """Sends this instead of its part of the handshake."""

    def converse(connection: Connection) -> None:
        connection.read_some()
        connection.send(response)
        end(connection)

    return converse


def without_end(piece: bytes, before: bytes = b"") -> Converse:
    def converse(connection: Connection) -> None:
        connection.read_some()
        connection.send(before)
        while True:
            connection.send(piece * (60_000 // len(piece)))

    return converse


class Held(Connection):
    """A connection that sends nothing after its first `most` bytes."""

    def __init__(
        self, connection: Connection, most: int, end: Callable[[Connection], None]
    ):
        super().__init__(connection.client, connection.stopping)
        self.left, self.end = most, end

    def send(self, data: bytes, flags: int = 0) -> None:
        super().send(data[: self.left], flags)
        self.left -= len(data)
        if self.left <= 0:
            self.end(self)


class Slow(Connection):
    """A connection that sends ten bytes a millisecond."""

    def send(self, data: bytes, flags: int = 0) -> None:
        for at in range(0, len(data), 10):
            super().send(data[at : at + 10], flags)
            self.pause(0.001)


def cut(most: int, end: Callable[[Connection], None]) -> Converse:
    """Sends the first bytes of its part of the handshake."""
    converse = over_tls(hello)
    return lambda connection: converse(Held(connection, most, end))


def slowly() -> Converse:
    converse = over_tls(hello)
    return lambda connection: converse(Slow(connection.client, connection.stopping))


def then(response: bytes, end: Callable[[TlsConnection], None]) -> Converse:
    """Sends this to the first request, encrypted, and then does something else."""

    def converse(connection: TlsConnection) -> None:
        connection.read_request()
        if response:
            connection.send(response)
        end(connection)

    return over_tls(converse)


def raw(data: bytes) -> Converse:
    """Sends this instead of a response, and not encrypted."""
    return then(b"", lambda it: (it.send_raw(data), it.hang()))


def notifies(connection: TlsConnection) -> None:
    connection.notify_close()
    connection.close()


def only_notifies(connection: TlsConnection) -> None:
    """Does not close the connection itself."""
    connection.notify_close()
    connection.plain.hang()


def within_record(connection: TlsConnection) -> None:
    connection.read_request()
    connection.send_raw(connection.sealed(HELLO)[:-5])
    connection.close()


def corrupt(connection: TlsConnection) -> None:
    connection.read_request()
    sealed = bytearray(connection.sealed(HELLO))
    sealed[10] ^= 1
    connection.send_raw(bytes(sealed))
    connection.hang()


def repeated(connection: TlsConnection) -> None:
    """Sends the same record twice."""
    connection.read_request()
    connection.send_raw(connection.sealed(HELLO) * 2)
    connection.hang()


def by_byte(connection: TlsConnection) -> None:
    while connection.read_request():
        for at in range(len(HELLO)):
            connection.send(HELLO[at : at + 1])


def endless(connection: TlsConnection) -> None:
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.send(bytes(64 * 1024))


V1_1, V1_2, V1_3 = (
    ssl.TLSVersion.TLSv1_1,
    ssl.TLSVersion.TLSv1_2,
    ssl.TLSVersion.TLSv1_3,
)
EXPIRED = ("expired", certificates.LOCAL, "20200101000000Z", "20210101000000Z")
FUTURE = ("future", certificates.LOCAL, "20400101000000Z", "20410101000000Z")
MANY = ",".join(f"DNS:host-{number}.example" for number in range(1000))
H1 = {"h2load": ["--h1"]}
INSECURE = {"Prony": ["--insecure"], "oha": ["--insecure"], **H1}
TLS_1_2 = ["--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"]
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
# A ServerHello that claims 16 MB.
LONG = b"\x02\xff\xff\xff"


def insecure(what: str, chain: Callable[[], Path]) -> Behaviour:
    return Behaviour(f"{what}, with `--insecure`", shows(chain), instead=INSECURE)


GROUPS = [
    Group("TLS: certificates", [
        Behaviour("nothing wrong, for comparison", shows(right)),
        Behaviour("expired", shows(lambda: certificates.signed(*EXPIRED))),
        Behaviour("not valid yet", shows(lambda: certificates.signed(*FUTURE))),
        Behaviour("for another host", shows(lambda: certificates.signed("other", "DNS:other.example"))),
        Behaviour("for 1,000 other hosts", shows(lambda: certificates.signed("many", MANY))),
        Behaviour("self-signed", shows(certificates.self_signed)),
        Behaviour("the authority's own", shows(certificates.of_authority)),
        insecure("expired", lambda: certificates.signed(*EXPIRED)),
        insecure("for another host", lambda: certificates.signed("other", "DNS:other.example")),
        insecure("self-signed", certificates.self_signed),
        Behaviour("100 certificates", shows(lambda: certificates.long_chain(100))),
        Behaviour("200 certificates: 100 KB", shows(lambda: certificates.long_chain(200)),
                  note="Prony reads messages of at most 64 KiB"),
        Behaviour("requires a client certificate, TLS 1.3", adjusted(requires_certificate),
                  note="the client learns it after its handshake"),
        Behaviour("requires a client certificate, TLS 1.2", adjusted(requires_certificate_1_2)),
    ]),
    Group("TLS: nothing in common", [
        Behaviour("plain HTTP on an https:// URL", instead(BAD_REQUEST)),
        Behaviour("TLS on an http:// URL", shows(right), scheme="http", instead=H1),
        Behaviour("`SSH-2.0-x` on an https:// URL", instead(b"SSH-2.0-x\r\n", HANG)),
        Behaviour("only TLS 1.1", versions(V1_1, V1_1)),
        Behaviour("only TLS 1.2, `--tls-min 1.3`", versions(V1_2, V1_2), ["--tls-min", "1.3"]),
        Behaviour("only TLS 1.3, `--tls-max 1.2`", versions(V1_3, V1_3), ["--tls-max", "1.2"]),
        Behaviour("only a cipher suite that Prony does not offer", ciphers("ECDHE-ECDSA-AES256-GCM-SHA384"), TLS_1_2),
        Behaviour("only CBC", ciphers("ECDHE-ECDSA-AES128-SHA")),
        Behaviour("no HTTP/2, `--http2`", shows(right), ["--http2"], peers={"oha": ["--http2"]}),
        Behaviour("ALPN `spdy/3` alone", adjusted(lambda it: it.set_alpn_protocols(["spdy/3"])), note="it goes on without ALPN, so with HTTP/1.1"),
        Behaviour("the alert no_application_protocol", instead(alert(NO_APPLICATION_PROTOCOL))),
        Behaviour("the alert handshake_failure", instead(alert(HANDSHAKE_FAILURE))),
        Behaviour("the alert internal_error", instead(alert(INTERNAL_ERROR))),
        Behaviour("the alert unrecognized_name", instead(alert(UNRECOGNIZED_NAME))),
    ]),
    Group("TLS: handshakes", [
        Behaviour("closes instead of a handshake", instead(b"")),
        Behaviour("resets instead of a handshake", instead(b"", RESET)),
        Behaviour("closes within the handshake", cut(200, CLOSE)),
        Behaviour("resets within the handshake", cut(200, RESET)),
        Behaviour("never begins the handshake", instead(b"", HANG)),
        Behaviour("never finishes the handshake", cut(200, HANG)),
        Behaviour("ten bytes a millisecond", slowly()),
        Behaviour("random bytes as a ServerHello", instead(record(HANDSHAKE, os.urandom(500)), HANG)),
        Behaviour("a message that claims 16 MB", without_end(record(HANDSHAKE, bytes(16_000)), record(HANDSHAKE, LONG))),
        Behaviour("empty records without end", without_end(record(HANDSHAKE, b""))),
        Behaviour("change_cipher_spec without end", without_end(record(CHANGE_CIPHER_SPEC, b"\x01"))),
        Behaviour("warnings without end", without_end(alert(USER_CANCELED, WARNING))),
        Behaviour("a record of 40 KB", instead(record(HANDSHAKE, bytes(40_000)), HANG)),
        Behaviour("a record of an unknown type", instead(record(99, bytes(100)), HANG)),
        Behaviour("1,000 session tickets", tickets(1000)),
    ]),
    Group("TLS: records and closing", [
        Behaviour("closes instead of a response", then(b"", CLOSE)),
        Behaviour("resets instead of a response", then(b"", RESET)),
        Behaviour("close_notify instead of a response", then(b"", notifies)),
        Behaviour("closes within a record", over_tls(within_record)),
        Behaviour("no length, and closes with close_notify", then(ENDLESS, notifies), note="the close ends the body"),
        Behaviour("no length, and closes without close_notify", then(ENDLESS, CLOSE),
                  note="anyone on the way could have cut the body off"),
        Behaviour("no length, and resets", then(ENDLESS, RESET)),
        Behaviour("a length, and close_notify within the body", then(HELLO[:-2], notifies)),
        Behaviour("a length, and closes within the body", then(HELLO[:-2], CLOSE)),
        Behaviour("closes after each response, with close_notify", then(HELLO, notifies), note="no error, but a reconnect"),
        Behaviour("closes after each response, without close_notify", then(HELLO, CLOSE),
                  note="the length tells that the response is whole"),
        Behaviour("close_notify after each response, and does not close", then(HELLO, only_notifies)),
        Behaviour("a corrupt record", over_tls(corrupt)),
        Behaviour("the same record twice", over_tls(repeated)),
        Behaviour("plain HTTP after the handshake", raw(HELLO)),
        Behaviour("a plain alert after the handshake", raw(alert(INTERNAL_ERROR))),
        Behaviour("a record of 40 KB after the handshake", raw(record(DATA, bytes(40_000)))),
        Behaviour("one byte per record", over_tls(by_byte)),
        Behaviour("an endless body", over_tls(endless)),
        Behaviour("never responds", then(b"", HANG)),
    ]),
]  # fmt: skip

TRUST = ["--cacert", str(certificates.folder() / "authority.pem")]

for group in GROUPS:
    group.scheme = "https"
    group.arguments = {"Prony": TRUST, "oha": TRUST, **H1}
    group.prepare = prepare
    group.quotes_prony = True
