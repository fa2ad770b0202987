"""The catalog's answers, and errors as Iceberg's specification has them."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from snowmelt.core.errors import SnowmeltError

_KINDS = {
    400: "BadRequestException", 401: "NotAuthorizedException", 403: "ForbiddenException", 404: "NoSuchTableException",
    405: "UnsupportedOperationException", 429: "SlowDownException", 500: "InternalServerError",
    503: "ServiceUnavailableException",
}  # fmt: skip
_STATUS = {
    "002003": 404, "002043": 404, "003001": 403, "370005": 503, "370002": 503, "390201": 429, "390202": 429,
    "370900": 500,
}  # fmt: skip
_LOGINS = ("3901", "3903", "3944")
"""How codes begin of whoever is not let in."""


class CatalogError(SnowmeltError):
    """What is wrong with a request, by the status and the name that the specification gives it."""

    def __init__(self, status: int, message: str, *, kind: str | None = None, hint: str | None = None) -> None:
        super().__init__("390189", "08P01", message, hint=hint)
        self.status = status
        self.kind = kind or _KINDS[status]


def no_namespace(name: str) -> CatalogError:
    return CatalogError(404, f"Schema '{name}' does not exist or not authorized.", kind="NoSuchNamespaceException")


def no_table(name: str) -> CatalogError:
    return CatalogError(404, f"Table '{name}' does not exist or not authorized.")


def refused(error: SnowmeltError) -> Response:
    status = error.status if isinstance(error, CatalogError) else _status(error.code)
    kind = error.kind if isinstance(error, CatalogError) else _KINDS[status]
    return JSONResponse({"error": {"message": error.text, "type": kind, "code": status}}, status)


def not_let_in(error: SnowmeltError) -> Response:
    """As OAuth 2 has it, for who asks for a token."""
    return JSONResponse({"error": "invalid_client", "error_description": error.text}, 401)


def _status(code: str) -> int:
    if code in _STATUS:
        return _STATUS[code]
    return 401 if code.startswith(_LOGINS) and code != "390189" else 400
