"""`make docs`: writes the reference pages that are made from the tests."""

from __future__ import annotations

import sys

from snowmelt.design.requirements.reading import json_schema
from tools import compatibility_reference, diagram, function_reference, metric_reference, privilege_reference

SCHEMA = function_reference.TARGET.parent / "requirements.schema.json"


def main() -> int:
    documented = function_reference.read(function_reference.SOURCE)
    missing = function_reference.undocumented(documented)
    if missing:
        print(f"No tested value for: {', '.join(missing)}", file=sys.stderr)
        return 1
    function_reference.TARGET.parent.mkdir(parents=True, exist_ok=True)
    function_reference.TARGET.write_text(function_reference.render(documented), encoding="utf-8")
    print(f"{function_reference.TARGET}: {len(documented)} entries")
    compatibility_reference.TARGET.write_text(compatibility_reference.render(), encoding="utf-8")
    print(compatibility_reference.TARGET)
    page = privilege_reference.TARGET
    page.write_text(privilege_reference.render(page.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{page}: {len(privilege_reference.TABLES)} tables")
    metrics = metric_reference.TARGET
    metrics.write_text(metric_reference.render(metrics.read_text(encoding="utf-8")), encoding="utf-8")
    print(metrics)
    SCHEMA.write_text(json_schema(), encoding="utf-8")
    print(SCHEMA)
    diagram.write()
    print(diagram.TARGET)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
