"""What a data product says of its quality: in SHOW, in DESCRIBE, and on its pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.data_catalog.model import CatalogSnapshot
from snowmelt.govern.data_catalog.site import pages


def test_a_product_tells_what_its_checks_said(tmp_path: Path) -> None:
    with open_account(tmp_path) as account:
        session = account.session()
        session.execute("CREATE TABLE orders (id INT)")
        session.execute("CREATE DATA PRODUCT sales OBJECTS = (orders)")

        def shown() -> object:
            result = session.execute("SHOW DATA PRODUCTS")
            return dict(zip([column.name for column in result.columns], result.rows()[0], strict=True))["quality"]

        assert shown() is None
        session.execute("ALTER TABLE orders ADD QUALITY CHECK few AS ROW_COUNT MAX = 1")
        session.execute("ALTER TABLE orders ADD QUALITY CHECK typed AS SCHEMA VALUES = ('id NUMBER')")
        assert shown() == "2 checks: 2 not run yet"
        session.execute("INSERT INTO orders VALUES (1)")
        assert shown() == "2 checks: 2 passed"
        with pytest.raises(SnowmeltError):
            session.execute("INSERT INTO orders VALUES (2)")
        assert shown() == "2 checks: 1 failed, 1 passed"
        described = dict(session.execute("DESCRIBE DATA PRODUCT sales").rows())
        assert described["check FEW of SNOWMELT.PUBLIC.ORDERS"] == "FAILED: ROW_COUNT is 2, and must be at most 1"
        assert described["check TYPED of SNOWMELT.PUBLIC.ORDERS"] == "PASSED"
        taken = CatalogSnapshot.from_json(str(session.execute("SELECT SYSTEM$CATALOG_SNAPSHOT()").rows()[0][0]))
    found = pages(taken)
    for page in ("products/SNOWMELT.PUBLIC.SALES.html", "objects/SNOWMELT.PUBLIC.ORDERS.html"):
        assert "<td>FEW</td>" in found[page] and "must be at most 1" in found[page]
