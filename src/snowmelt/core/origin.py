"""Where this Snowmelt came from, for projects that are to run with the same one."""

from __future__ import annotations

import json
from importlib.metadata import distribution
from urllib.parse import unquote, urlparse

from snowmelt.core.version import VERSION


def installed_from() -> str:
    """What pip can install it from: the wheel or folder that it was installed from, else its version."""
    text = distribution("snowmelt").read_text("direct_url.json")
    address = urlparse(json.loads(text)["url"]) if text else urlparse("")
    return unquote(address.path) if address.scheme == "file" else f"snowmelt=={VERSION}"
