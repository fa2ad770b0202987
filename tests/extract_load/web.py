"""A web server with one collection, in all ways of paging, and with all the trouble that a test asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, dict[str, str], bytes]


class Web:
    """`/orders`: the items from `since` on, cut as the parameters ask; `/files/<name>`: what `files` holds."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.files: dict[str, bytes] = {}
        self.trouble: list[Answer] = []
        """Answers that come before the next right one."""
        self.seen: list[tuple[str, dict[str, str], dict[str, str]]] = []
        """Path, parameters and headers of every request."""
        self.allowed: Callable[[dict[str, str], dict[str, str]], bool] = lambda headers, parameters: True
        self.taken: dict[str, tuple[str, dict[str, Any]]] = {}
        """What was put, by its idempotency key: path and body."""
        self.deliveries: list[str] = []
        """The idempotency key of every record that came, however often."""
        self.judge: Callable[[dict[str, Any]], int] = lambda record: 200
        """The status with which a record is answered."""
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, headers, body = web.answer(self.path, {k.lower(): v for k, v in self.headers.items()})
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {k.lower(): v for k, v in self.headers.items()}
                status, more, answer = web.take(self.path, headers, json.loads(body))
                self.send_response(status)
                for name, value in {**more, "Content-Length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def do_POST(self) -> None:
                self.do_PUT()

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                """The test's output is its own."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, path: str, headers: dict[str, str]) -> Answer:
        parts = urlsplit(path)
        parameters = dict(parse_qsl(parts.query))
        self.seen.append((parts.path, parameters, headers))
        if self.trouble:
            return self.trouble.pop(0)
        if not self.allowed(headers, parameters):
            return 401, {}, b"{}"
        if parts.path.startswith("/files/"):
            found = self.files.get(parts.path.removeprefix("/files/"))
            return (404, {}, b"") if found is None else (200, {}, found)
        return self._page(parts.path, parameters)

    def take(self, path: str, headers: dict[str, str], record: dict[str, Any]) -> Answer:
        """One that is known by its key is answered as before, and changes nothing."""
        if self.trouble:
            return self.trouble.pop(0)
        if not self.allowed(headers, {}):
            return 401, {}, b"{}"
        name = headers["idempotency-key"]
        self.deliveries.append(name)
        status = self.judge(record)
        if status == 200:
            self.taken.setdefault(name, (path, record))
        return status, {}, b"no such tier" if status == 422 else b"{}"

    def _page(self, path: str, parameters: dict[str, str]) -> Answer:
        since = parameters.get("since", "")
        items = [item for item in self.items if not isinstance(item, dict) or str(item.get("changed_at")) >= since]
        if path == "/orders":
            size = int(parameters.get("per_page", 1000))
            start = (int(parameters.get("page", 1)) - 1) * size
            return _json(items[start : start + size])
        if path == "/offset":
            start, size = int(parameters["offset"]), int(parameters["limit"])
            return _json({"data": {"items": items[start : start + size]}, "total": len(items)})
        start = int(parameters.get("cursor", parameters.get("after", 0)))
        more = start + 2 if start + 2 < len(items) else None
        document: dict[str, Any] = {"results": items[start : start + 2]}
        if path == "/cursor":
            return _json({**document, "meta": {"next": more}})
        link = f"{self.address}{path}?after={more}"
        if path == "/next":
            return _json({**document, "next": link if more else None})
        return _json(document, {"Link": f'<{link}>; rel="next"'} if more else {})

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _json(document: Any, headers: dict[str, str] | None = None) -> Answer:
    return 200, {"Content-Type": "application/json", **(headers or {})}, json.dumps(document).encode()
