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
    # The default of 5 drops connections that come in a burst.
    request_queue_size = 1024

    def handle_error(self, request, client_address):
        # A client that goes away in mid-response is no error of the server.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        match self.path:
            case "/hello":
                self.response("text/plain", b"hello from prony\n")
            case "/byte":
                self.response("text/plain", b"r")
            case "/":
                self.response("text/html", PAGE)
            case "/log":
                self.log_line()
                self.response("text/html", PAGE)
            case "/sse":
                self.log_line()
                self.response_patch(PAGE)
            case "/sse-20k":
                self.log_line()
                self.response_patch(SMALL_PAGE)
            case "/franklin-says":
                self.response("text/plain", random.choice(QUOTES))
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    def response(self, content_type, body, headers=()):
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def response_patch(self, page):
        """Sends a page as one datastar-patch-elements event."""
        lines = (b"data: elements " + line for line in page.splitlines())
        event = b"event: datastar-patch-elements\n" + b"\n".join(lines) + b"\n\n"
        self.response("text/event-stream", event, [("Cache-Control", "no-cache")])

    def log_line(self):
        # One write, so that the lines of two threads do not run together.
        sys.stdout.write(f"GET {self.path}\n")
        sys.stdout.flush()

    def log_message(self, format, *args):
        """Leaves out http.server's own line for every request."""


def main():
    server = Server((os.environ["HOST"], int(os.environ["PORT"])), Handler)
    for _ in range(int(os.environ["CPUS"]) - 1):
        if os.fork() == 0:
            break
    server.serve_forever()


if __name__ == "__main__":
    main()
