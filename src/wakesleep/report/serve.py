"""A small web server for the report of lifetimes that still run: the page asks it again and again for the data."""

import contextlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wakesleep.errors import UserError, brief
from wakesleep.report.data import Reporter
from wakesleep.report.page import page, to_text

HOST = "127.0.0.1"
SECONDS_BETWEEN_LOOKS = 2.0


class Watcher:
    """The data as it was a moment ago: however many pages ask, folders are read every two seconds at most."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self._lock = threading.Lock()
        self._data: dict[str, Any] = {}
        self._looked = float("-inf")

    def data(self) -> dict[str, Any]:
        """What the page shows."""
        with self._lock:
            if time.monotonic() - self._looked > SECONDS_BETWEEN_LOOKS:
                self._data = self.reporter.data()
                self._looked = time.monotonic()
            return self._data


def make_server(reporter: Reporter, port: int, title: str = "Lifetimes") -> ThreadingHTTPServer:
    """A server for this machine's own browser; port 0 takes any that is free."""
    watcher = Watcher(reporter)

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
                    return 200, "text/html", page(watcher.data(), title, live=True)
                if self.path == "/data.json":
                    return 200, "application/json", to_text({**watcher.data(), "live": True})
            except (UserError, OSError) as error:  # files may go while they are read: the page asks again
                return 503, "text/plain", str(error)
            return 404, "text/plain", "there is only the report, at /"

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing of every request."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise UserError(f"port {port} cannot be used ({brief(error)}): choose another with --port") from error
