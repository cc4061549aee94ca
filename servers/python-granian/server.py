"""Serves Prony's workloads with Granian and its own interface, RSGI."""

import os
import random
import sys
from pathlib import Path

from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

ASSETS = Path(os.environ["ASSETS"])
PAGE = (ASSETS / "page-100k.html").read_bytes()
SMALL_PAGE = (ASSETS / "page-20k.html").read_bytes()
CERTIFICATE = os.environ.get("TLS_CERT")
QUOTES = (ASSETS / "quotes.txt").read_bytes().splitlines()


async def app(scope, protocol):
    def respond(content_type, body, headers=()):
        protocol.response_bytes(200, [("content-type", content_type), *headers], body)

    def respond_patch(page):
        respond(
            "text/event-stream", patch_elements(page), [("cache-control", "no-cache")]
        )

    match scope.path:
        case "/hello":
            respond("text/plain", b"hello from prony\n")
        case "/byte":
            respond("text/plain", b"r")
        case "/":
            respond("text/html", PAGE)
        case "/log":
            log_line(scope.path)
            respond("text/html", PAGE)
        case "/sse":
            log_line(scope.path)
            respond_patch(PAGE)
        case "/sse-20k":
            log_line(scope.path)
            respond_patch(SMALL_PAGE)
        case "/franklin-says":
            respond("text/plain", random.choice(QUOTES))
        case _:
            protocol.response_empty(404, [])


def patch_elements(page):
    """A page as one datastar-patch-elements event."""
    lines = (b"data: elements " + line for line in page.splitlines())
    return b"event: datastar-patch-elements\n" + b"\n".join(lines) + b"\n\n"


def log_line(path):
    # One write, so that the lines of two processes are not mixed.
    sys.stdout.write(f"GET {path}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Granian(
        "server:app",
        address=os.environ["HOST"],
        port=int(os.environ["PORT"]),
        ssl_cert=CERTIFICATE and Path(CERTIFICATE),
        ssl_key=CERTIFICATE and Path(os.environ["TLS_KEY"]),
        interface=Interfaces.RSGI,
        workers=int(os.environ["CPUS"]),
        # Per worker; the default is divided among them, and idle connections count.
        backpressure=1024,
        # Granian would write lines of its own to standard output.
        log_level=LogLevels.warning,
    ).serve()
