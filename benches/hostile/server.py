"""A server that misbehaves on purpose: one listener, and a thread for each connection."""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable


class Gone(Exception):
    """The client has closed the connection, or the server is being stopped."""


class Connection:
    """A connection to one client, and what a misbehaviour can do with it."""

    def __init__(self, client: socket.socket, stopping: threading.Event):
        self.client = client
        self.stopping = stopping
        self.received = b""
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.settimeout(5)

    def read_request(self) -> bytes:
        """Reads the head of the next request; these loads send no bodies."""
        while b"\r\n\r\n" not in self.received:
            self.received += self._receive()
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        return head

    def read(self, length: int) -> bytes:
        """Reads exactly that many bytes."""
        while len(self.received) < length:
            self.received += self._receive()
        data, self.received = self.received[:length], self.received[length:]
        return data

    def read_some(self) -> bytes:
        """Reads whatever comes next."""
        data, self.received = self.received or self._receive(), b""
        return data

    def waits_for_request(self, seconds: float) -> bool:
        """Whether a request comes within that time."""
        return bool(self.received or select.select([self.client], [], [], seconds)[0])

    def _receive(self) -> bytes:
        try:
            data = self.client.recv(65536)
        except OSError as error:
            raise Gone from error
        if not data or self.stopping.is_set():
            raise Gone
        return data

    def send(self, data: bytes, flags: int = 0) -> None:
        try:
            while data:
                data = data[self.client.send(data, flags) :]
        except OSError as error:
            raise Gone from error
        if self.stopping.is_set():
            raise Gone

    def pause(self, seconds: float) -> None:
        if self.stopping.wait(seconds):
            raise Gone

    def hang(self) -> None:
        """Does nothing until the client gives up, or the server is stopped."""
        while True:
            self._receive()

    def close(self) -> None:
        self.client.close()
        raise Gone

    def finish(self) -> None:
        """Closes after the client has: closing with unread bytes would reset the connection."""
        self.half_close()
        self.hang()

    def half_close(self) -> None:
        with contextlib.suppress(OSError):
            self.client.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Closes with RST instead of FIN."""
        linger = struct.pack("ii", 1, 0)
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close()


class Server:
    """Serves `converse` on a loopback port while the `with` block runs."""

    def __init__(self, converse: Callable[[Connection], None], accepts: bool = True):
        self.converse = converse
        self.accepts = accepts
        self.stopping = threading.Event()
        self.listener = socket.create_server(
            ("127.0.0.1", 0), backlog=1024 if accepts else 0
        )
        self.port = self.listener.getsockname()[1]
        self.clients: list[socket.socket] = []

    def __enter__(self) -> "Server":
        if self.accepts:
            threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        # Closing alone would not wake the thread in accept().
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for client in self.clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        time.sleep(0.05)

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.clients = [known for known in self.clients if known.fileno() >= 0] + [
                client
            ]
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(Gone, OSError), client:
            self.converse(Connection(client, self.stopping))
