"""The reference page shows the tables that are enforced."""

from __future__ import annotations

from tools import privilege_reference


def test_the_reference_of_privileges_is_up_to_date() -> None:
    page = privilege_reference.TARGET.read_text(encoding="utf-8")
    assert privilege_reference.render(page) == page, "run `make docs`"
