"""Serves Prony's workloads with Python's own http.server."""

import os
import random
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ASSETS = Path(os.environ["ASSETS"])
PAGE = (ASSETS / "page-100k.html").read_bytes()
SMALL_PAGE = (ASSETS / "page-20k.html").read_bytes()
QUOTES = (ASSETS / "quotes.txt").read_bytes().splitlines()


class Server(ThreadingHTTPServer):
    # With the default of 5, bursts of connections are dropped.
    request_queue_size = 1024

    def handle_error(self, request, client_address):
        # A client that closes in the middle of a response is not a server error.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        match self.path:
            case "/hello":
                self.respond("text/plain", b"hello from prony\n")
            case "/byte":
                self.respond("text/plain", b"r")
            case "/":
                self.respond("text/html", PAGE)
            case "/log":
                self.log_line()
                self.respond("text/html", PAGE)
            case "/sse":
                self.log_line()
                self.respond_patch(PAGE)
            case "/sse-20k":
                self.log_line()
                self.respond_patch(SMALL_PAGE)
            case "/franklin-says":
                self.respond("text/plain", random.choice(QUOTES))
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    def respond(self, content_type, body, headers=()):
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def respond_patch(self, page):
        """Sends a page as one datastar-patch-elements event."""
        lines = (b"data: elements " + line for line in page.splitlines())
        event = b"event: datastar-patch-elements\n" + b"\n".join(lines) + b"\n\n"
        self.respond("text/event-stream", event, [("Cache-Control", "no-cache")])

    def log_line(self):
        # One write, so that the lines of two threads are not mixed.
        sys.stdout.write(f"GET {self.path}\n")
        sys.stdout.flush()

    def log_message(self, format, *args):
        """Suppresses http.server's own log line for each request."""


def main():
    server = Server((os.environ["HOST"], int(os.environ["PORT"])), Handler)
    for _ in range(int(os.environ["CPUS"]) - 1):
        if os.fork() == 0:
            break
    server.serve_forever()


if __name__ == "__main__":
    main()
