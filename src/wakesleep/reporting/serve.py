"""A web server for the report of running lifetimes: the page polls it for new data."""

import contextlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wakesleep.errors import UserError, brief
from wakesleep.reporting.data import Reporter
from wakesleep.reporting.page import page, to_text

HOST = "127.0.0.1"
CACHE_SECONDS = 2.0


class CachedData:
    """The data of a report, read anew after `CACHE_SECONDS` at the earliest, however many pages ask."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self._lock = threading.Lock()
        self._data: dict[str, Any] = {}
        self._read_at = float("-inf")

    def data(self) -> dict[str, Any]:
        """The data for the page, at most `CACHE_SECONDS` old."""
        with self._lock:
            if time.monotonic() - self._read_at > CACHE_SECONDS:
                self._data = self.reporter.data()
                self._read_at = time.monotonic()
            return self._data


def make_server(reporter: Reporter, port: int, title: str = "Lifetimes") -> ThreadingHTTPServer:
    """A server that only this machine can reach; port 0 takes any free port."""
    cached = CachedData(reporter)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, text = self._content()
            content = text.encode()
            with contextlib.suppress(ConnectionError):  # a page that was closed meanwhile
                self.send_response(status)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(content)

        def _content(self) -> tuple[int, str, str]:
            try:
                if self.path == "/":
                    return 200, "text/html", page(cached.data(), title, live=True)
                if self.path == "/data.json":
                    return 200, "application/json", to_text({**cached.data(), "live": True})
            except (UserError, OSError) as error:  # files may go while they are read: the page asks again
                return 503, "text/plain", str(error)
            return 404, "text/plain", "there is only the report, at /"

        def log_message(self, format: str, *arguments: Any) -> None:
            """Do not log requests."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise UserError(f"port {port} cannot be used ({brief(error)}): choose another with --port") from error
