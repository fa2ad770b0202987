"""The former name of `snowmelt.extract_load`, for projects that were built before the rename."""

from __future__ import annotations

import sys
import warnings

from snowmelt import extract_load
from snowmelt.extract_load import capturing

warnings.warn(
    "snowmelt.pipeline is now called snowmelt.extract_load. `snowmelt build` renames the imports of a built project;"
    " in code of your own, change them by hand.",
    FutureWarning,
    stacklevel=2,
)
# The same modules under both names, so that a class is the same one whichever name imported it.
sys.modules[__name__] = extract_load
sys.modules[f"{__name__}.capturing"] = capturing
