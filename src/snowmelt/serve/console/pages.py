"""The files of the page: they come out of the package, and nothing comes from elsewhere."""

from __future__ import annotations

import gzip
import mimetypes
import secrets
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_NONCE = "__CSP_NONCE__"
"""Stands in the built page where the nonce of one answer goes."""
_FOREVER = "public, max-age=31536000, immutable"
"""Names of assets have a hash of their content in them."""
# Style attributes are allowed: browsers write some themselves while somebody edits text. Style sheets are not.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PACKED = frozenset({".js", ".css", ".svg", ".html", ".json"})
_NOT_BUILT = """<!doctype html><meta charset="utf-8"><title>Snowmelt</title>
<p>The console was not built into this installation. In a checkout, run <code>make setup</code>.</p>"""


@dataclass(frozen=True, slots=True)
class _Asset:
    content: bytes
    packed: bytes | None
    """With gzip, where that makes it smaller."""
    media_type: str


def routes() -> list[Route]:
    get = ["GET"]
    return [
        Route("/", page, methods=get),
        Route("/favicon.svg", favicon, methods=get),
        Route("/assets/{name}", asset, methods=get),
    ]


async def page(_: Request) -> Response:
    """The one page. Its styles carry a nonce that is new in each answer."""
    nonce = secrets.token_urlsafe(16)
    found = _load("index.html")
    if found is None:
        return Response(_NOT_BUILT, status_code=503, media_type="text/html")
    headers = {"content-security-policy": _POLICY.format(nonce=nonce), "cross-origin-opener-policy": "same-origin"}
    text = found.content.decode("utf-8").replace(_NONCE, nonce)
    return Response(text, headers=headers, media_type="text/html")


async def favicon(request: Request) -> Response:
    return _sent(request, _load("favicon.svg"), "no-cache")


async def asset(request: Request) -> Response:
    return _sent(request, _load(f"assets/{request.path_params['name']}"), _FOREVER)


def _sent(request: Request, found: _Asset | None, caching: str) -> Response:
    if found is None:
        return Response(status_code=404)
    headers = {"cache-control": caching, "vary": "accept-encoding"}
    if found.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, headers={**headers, "content-encoding": "gzip"}, media_type=found.media_type)
    return Response(found.content, headers=headers, media_type=found.media_type)


@lru_cache(maxsize=64)
def _load(path: str) -> _Asset | None:
    """Read once: the names are those of the build, and anything else is not there."""
    found: Traversable | None = _listed().get(path)
    if found is None:
        return None
    try:
        content = found.read_bytes()
    except FileNotFoundError:
        # Another build took its place: what is listed here is gone.
        return None
    ending = path[path.rfind(".") :]
    packed = gzip.compress(content, 9, mtime=0) if ending in _PACKED else None
    media = "font/woff2" if ending == ".woff2" else mimetypes.guess_type(path)[0] or "application/octet-stream"
    return _Asset(content, packed if packed is not None and len(packed) < len(content) else None, media)


@lru_cache(maxsize=1)
def _listed() -> dict[str, Traversable]:
    """The built files. A name from a request is looked up here, so that it can't lead anywhere else."""
    folder = files("snowmelt.serve.console").joinpath("static")
    if not folder.is_dir():
        return {}
    top = {entry.name: entry for entry in folder.iterdir() if entry.is_file()}
    assets = folder.joinpath("assets")
    inside = {f"assets/{entry.name}": entry for entry in assets.iterdir()} if assets.is_dir() else {}
    return {**top, **inside}
