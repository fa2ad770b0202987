"""Where a server listens."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from snowmelt.core import errors


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and how."""

    port: int
    """0 takes a free one."""
    host: str = "127.0.0.1"
    certificate: Path | None = None
    """PEM file with the server's certificate and those that vouch for it."""
    key: Path | None = None
    insecure: bool = False
    """Whether passwords may cross a network in clear text."""

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"

    def hosts(self, allowed: tuple[str, ...]) -> tuple[str, ...] | None:
        """The names that the server may be called by. From outside it may have any; its certificate proves the name."""
        return allowed if is_loopback(self.host) else None

    def check(self) -> None:
        """Raises when the address would give passwords and data away, or a file is missing."""
        if (self.certificate is None) != (self.key is None):
            raise errors.configuration("TLS needs both files: --tls-certificate and --tls-key.")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise errors.configuration(f"The file {path} does not exist.")
        if self.certificate is None and not self.insecure and not is_loopback(self.host):
            raise errors.configuration(
                f"{self.host} can be reached from other machines, and without TLS everybody on the way could read "
                "passwords and data. Give --tls-certificate and --tls-key, or --insecure if that is meant."
            )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
