"""What goes wrong outside: each error says whether trying again may help, and shows no secret."""

from __future__ import annotations

from urllib.parse import urlsplit

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError


class SourceUnavailableError(SnowmeltError):
    """The source does not answer, or not in time: the run tries again from the last place that was committed."""

    def __init__(self, who: str, detail: str) -> None:
        super().__init__(
            "370022", "08006", f"{who} is not available: {detail}.",
            hint="Nothing is lost: run again when it is reachable. The address is in connections.yaml.", transient=True,
        )  # fmt: skip


class SourceRefusedError(SnowmeltError):
    """The source refused, and will do so again: somebody has to change something."""

    def __init__(self, who: str, detail: str, hint: str) -> None:
        super().__init__("370023", "08004", f"{who} refuses: {detail}.", hint=hint)


def shown(address: str) -> str:
    """An address without user information and query, either of which may be a secret."""
    parts = urlsplit(address)
    if not parts.scheme:
        return address
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port is not None else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def not_installed(package: str | None, extra: str) -> SnowmeltError:
    return errors.configuration(
        f"The package {package} is not installed.", hint=f"Install it: pip install 'snowmelt[{extra}]'."
    )
