"""The server's side of a TLS connection, which can also send bytes of its own between the records."""

import ssl
from collections.abc import Callable

from server import Connection, Gone


class TlsConnection(Connection):
    def __init__(self, connection: Connection, context: ssl.SSLContext):
        """Shakes hands."""
        super().__init__(connection.client, connection.stopping)
        self.plain = connection
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self._until_done(self.tls.do_handshake)

    def send(self, data: bytes, flags: int = 0) -> None:
        self.send_raw(self.sealed(data), flags)

    def sealed(self, data: bytes) -> bytes:
        """The records of that data."""
        self.tls.write(data)
        return self.outgoing.read()

    def send_raw(self, data: bytes, flags: int = 0) -> None:
        """Sends bytes without encrypting them."""
        self.plain.send(data, flags)

    def notify_close(self) -> None:
        """Sends a close_notify, and reads no more."""
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass
        self.send_raw(self.outgoing.read())

    def _receive(self) -> bytes:
        return self._until_done(lambda: self.tls.read(65536))

    def _until_done(self, step: Callable[[], bytes | None]) -> bytes:
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self.send_raw(self.outgoing.read())
                self.incoming.write(self.plain.read_some())
                continue
            except ssl.SSLError as error:
                # There may be an alert to send.
                self.send_raw(self.outgoing.read())
                raise Gone from error
            self.send_raw(self.outgoing.read())
            if done == b"":
                raise Gone
            return done or b""
