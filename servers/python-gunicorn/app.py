"""Serves Prony's workloads as a plain WSGI application."""

import os
import random
import sys
from pathlib import Path

ASSETS = Path(os.environ["ASSETS"])
PAGE = (ASSETS / "page-100k.html").read_bytes()
SMALL_PAGE = (ASSETS / "page-20k.html").read_bytes()
QUOTES = (ASSETS / "quotes.txt").read_bytes().splitlines()


def app(environ, start_response):
    def respond(content_type, body, headers=()):
        start_response(
            "200 OK",
            [
                ("Content-Type", content_type),
                ("Content-Length", str(len(body))),
                *headers,
            ],
        )
        return [body]

    def respond_patch(page):
        return respond(
            "text/event-stream", patch_elements(page), [("Cache-Control", "no-cache")]
        )

    match path := environ["PATH_INFO"]:
        case "/hello":
            return respond("text/plain", b"hello from prony\n")
        case "/byte":
            return respond("text/plain", b"r")
        case "/":
            return respond("text/html", PAGE)
        case "/log":
            log_line(path)
            return respond("text/html", PAGE)
        case "/sse":
            log_line(path)
            return respond_patch(PAGE)
        case "/sse-20k":
            log_line(path)
            return respond_patch(SMALL_PAGE)
        case "/franklin-says":
            return respond("text/plain", random.choice(QUOTES))
        case _:
            start_response("404 Not Found", [("Content-Length", "0")])
            return []


def patch_elements(page):
    """A page as one datastar-patch-elements event."""
    lines = (b"data: elements " + line for line in page.splitlines())
    return b"event: datastar-patch-elements\n" + b"\n".join(lines) + b"\n\n"


def log_line(path):
    # One write, so that the lines of two processes are not mixed.
    sys.stdout.write(f"GET {path}\n")
    sys.stdout.flush()
