#!/usr/bin/env python3
"""target.py ADDRESS PORT: a web server that keeps its own record of a load.

It prints `ready` when it listens, a line at the first request of each source address, and at SIGTERM one JSON object: for
each source address the number of requests and the arrival of the first one, in nanoseconds of the kernel's clock. The
kernel stamps each segment when it arrives, so how busy this program is does not matter.
"""

import json
import selectors
import signal
import socket
import struct
import sys

# Not in Python's `socket`: asm-generic/socket.h.
SO_TIMESTAMPNS = 35
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
END_OF_REQUEST = b"\r\n\r\n"


class Connection:
    def __init__(self, connection, address):
        self.socket = connection
        self.address = address
        self.rest = b""

    def read(self, sources):
        """Counts and serves what has arrived. False at the end of the connection."""
        try:
            data, control, _, _ = self.socket.recvmsg(65536, 1024)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        if not data:
            return False
        requests, _, self.rest = (self.rest + data).rpartition(END_OF_REQUEST)
        count = requests.count(END_OF_REQUEST) + 1 if requests else 0
        if count:
            if self.address not in sources:
                sources[self.address] = {"requests": 0, "first_ns": stamp(control)}
                print(f"first request of {self.address}", flush=True)
            sources[self.address]["requests"] += count
            try:
                self.socket.send(RESPONSE * count)
            except (BlockingIOError, ConnectionError):
                return False
        return True


def stamp(control):
    for level, kind, data in control:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", data)
            return seconds * 10**9 + nanoseconds
    raise RuntimeError("the kernel does not stamp TCP segments")


class Stop(Exception):
    pass


def stop(_signal, _frame):
    raise Stop


def serve(listener, sources):
    listener.setblocking(False)
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    accepted, (address, _port) = listener.accept()
                    accepted.setblocking(False)
                    selector.register(
                        accepted, selectors.EVENT_READ, Connection(accepted, address)
                    )
                elif not key.data.read(sources):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()


def main():
    signal.signal(signal.SIGTERM, stop)
    address, port = sys.argv[1], int(sys.argv[2])
    sources = {}
    try:
        with socket.create_server((address, port), backlog=1024) as listener:
            # Connections that are accepted inherit it.
            listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            print("ready", flush=True)
            serve(listener, sources)
    except Stop:
        print(json.dumps(sources), flush=True)


if __name__ == "__main__":
    main()
