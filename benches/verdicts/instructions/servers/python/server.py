"""Serves the workload `hello` with Python's own http.server, after a known amount of work."""

import os
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Steps of work for each request.
WORK = 200


class Handler(BaseHTTPRequestHandler):
    # Keeps connections open.
    protocol_version = "HTTP/1.1"
    # One segment per response.
    wbufsize = -1

    def do_GET(self):
        if self.path != "/hello":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        work(WORK)
        body = b"hello from prony\n"
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Suppresses http.server's own log line for each request."""


def work(steps):
    """Does steps that each need the result of the one before."""
    state = 1
    for _ in range(steps):
        state = (state * 75 + 74) % 65537
    return state


if __name__ == "__main__":
    address = os.environ["HOST"], int(os.environ["PORT"])
    ThreadingHTTPServer(address, Handler).serve_forever()
