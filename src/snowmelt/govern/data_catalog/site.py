"""The data catalog as pages that any web server, or none, can show."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from snowmelt.govern.data_catalog.model import CatalogSnapshot, ContractEntry, NamedEntry, ProductEntry, RelationEntry
from snowmelt.govern.data_catalog.pictures import picture

_ASSETS = ("catalog.css", "catalog.js")


def pages(snapshot: CatalogSnapshot) -> dict[str, str]:
    """The files of the site by their path. The same snapshot gives the same files."""
    site = _Site(snapshot)
    found = {"index.html": site.index(), "search.js": site.search_index()}
    found |= {site.path(item): site.product(item) for item in snapshot.products}
    found |= {site.path(item): site.contract(item) for item in snapshot.contracts}
    found |= {site.path(item): site.relation(item) for item in snapshot.relations}
    folder = files("snowmelt.govern.data_catalog").joinpath("assets")
    return found | {name: folder.joinpath(name).read_text(encoding="utf-8") for name in _ASSETS}


class _Site:
    def __init__(self, snapshot: CatalogSnapshot) -> None:
        self.snapshot = snapshot
        self.contracts = {item.full_name: item for item in snapshot.contracts}
        self.products_of: dict[str, list[ProductEntry]] = {}
        for product in snapshot.products:
            for name in product.objects:
                self.products_of.setdefault(name, []).append(product)

    # -- pages ----------------------------------------------------------------------------------------------------

    def index(self) -> str:
        domains = sorted({product.domain or "" for product in self.snapshot.products})
        body = ['<input id="search" type="search" placeholder="Search names, columns, descriptions" autofocus>']
        body.append('<ul id="hits"></ul>')
        for domain in domains:
            cards = [self._card(item) for item in self.snapshot.products if (item.domain or "") == domain]
            body.append(f"<h2>{escape(domain or 'Data products')}</h2><div class='cards'>{''.join(cards)}</div>")
        if self.snapshot.contracts:
            rows = [
                [self._link(item, ""), escape(item.version), escape(item.compatibility), _listed(item.attached_to)]
                for item in self.snapshot.contracts
            ]
            body.append("<h2>Contracts</h2>" + _table(("contract", "version", "compatibility", "attached to"), rows))
        rows = [
            [self._link(item, ""), escape(item.kind.lower()), escape(item.description or "")]
            for item in self.snapshot.relations
        ]
        body.append("<h2>Tables and views</h2>" + _table(("name", "kind", "description"), rows))
        scripts = '<script src="search.js"></script><script src="catalog.js"></script>'
        return self._page("Data catalog", "".join(body) + scripts, up="")

    def product(self, item: ProductEntry) -> str:
        contract = self.contracts.get(item.contract or "")
        tier = f"tier {item.availability_tier}, {item.availability}" if item.availability else None
        facts = [
            ("owner", _text(item.product_owner)),
            ("domain", _text(item.domain)),
            ("freshness", _text(item.freshness)),
            ("availability", _text(tier)),
            ("contract", self._link(contract, "../") if contract is not None else _text(item.contract)),
            ("consumers", _listed(item.consumers)),
            ("personal data", _listed(item.pii)),
            ("tags", _listed(f"{tag}: {value}" if value else tag for tag, value in item.tags.items())),
            ("documentation", _documentation(item.documentation)),
        ]
        body = _described(item) + _facts(facts) + self._flow(item.objects)
        for name in item.objects:
            relation = self.snapshot.relation(name)
            if relation is not None:
                body += f"<h2>{self._link(relation, '../')}</h2>{_columns(relation)}{_quality(relation)}"
        return self._page(item.name, body, kind="data product", path=item.full_name)

    def contract(self, item: ContractEntry) -> str:
        consumers = [
            [escape(c.name), escape(c.contact or ""), _listed(c.columns) or "all columns"] for c in item.consumers
        ]
        facts = [
            ("version", _text(item.version)),
            ("all versions", _listed(item.versions)),
            ("compatibility", _text(item.compatibility)),
            ("sunset", _listed(item.sunsets)),
            ("attached to", ", ".join(self._named(name) for name in item.attached_to)),
        ]
        body = _described(item) + _facts(facts)
        if consumers:
            body += "<h2>Consumers</h2>" + _table(("consumer", "contact", "uses"), consumers)
        body += f"<h2>Document</h2><pre>{escape(item.document)}</pre>"
        return self._page(item.name, body, kind="contract", path=item.full_name)

    def relation(self, item: RelationEntry) -> str:
        products = self.products_of.get(item.full_name, [])
        contract = self.contracts.get(item.contract or "")
        promised = self._link(contract, "../") if contract is not None else _text(item.contract)
        facts = [
            ("target lag", _text(item.target_lag)),
            ("contract", f"{promised} {escape(item.contract_version or '')}" if item.contract else ""),
            ("data product", ", ".join(self._link(product, "../") for product in products)),
        ]
        body = _described(item) + _facts(facts) + self._flow([item.full_name]) + "<h2>Columns</h2>" + _columns(item)
        body += _quality(item)
        return self._page(item.name, body, kind=item.kind.lower(), path=item.full_name)

    def search_index(self) -> str:
        """Everything that can be found, as data that a page without a server can read."""
        entries = [
            {"name": item.name, "path": item.full_name, "kind": kind, "link": self.path(item),
             "about": " ".join(text for text in about if text)}
            for kind, item, about in self._searchable()
        ]  # fmt: skip
        return f"const ENTRIES = {json.dumps(entries, ensure_ascii=False)};\n"

    def _searchable(self) -> Iterator[tuple[str, NamedEntry, list[str | None]]]:
        for product in self.snapshot.products:
            tags = [f"{tag} {value}" for tag, value in product.tags.items()]
            about = [product.description, product.domain, product.product_owner, product.documentation]
            yield "data product", product, [*about, *product.consumers, *product.pii, *tags]
        for contract in self.snapshot.contracts:
            yield "contract", contract, [contract.description, *(consumer.name for consumer in contract.consumers)]
        for relation in self.snapshot.relations:
            words = [text for c in relation.columns for text in (c.name, c.description, c.classification, *c.tags)]
            yield relation.kind.lower(), relation, [relation.description, *words]

    # -- parts ----------------------------------------------------------------------------------------------------

    def path(self, item: NamedEntry) -> str:
        """A file for each object: readable, and different for names that only differ in what files can't have."""
        folder = {ProductEntry: "products", ContractEntry: "contracts"}.get(type(item), "objects")
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", item.full_name)
        mark = "" if plain == item.full_name.upper() else "-" + hashlib.sha256(item.full_name.encode()).hexdigest()[:8]
        return f"{folder}/{plain}{mark}.html"

    def _link(self, item: NamedEntry, up: str) -> str:
        return f'<a href="{escape(up + self.path(item))}">{escape(item.full_name)}</a>'

    def _named(self, name: str) -> str:
        found = self.snapshot.relation(name)
        return self._link(found, "../") if found is not None else escape(name)

    def _card(self, item: ProductEntry) -> str:
        facts = " · ".join(escape(fact) for fact in (item.product_owner, item.freshness, item.availability) if fact)
        return (
            f'<a class="card" href="{escape(self.path(item))}"><strong>{escape(item.name)}</strong>'
            f"<p>{escape(item.description or '')}</p><small>{facts}</small></a>"
        )

    def _flow(self, names: Sequence[str]) -> str:
        drawn = picture(self.snapshot, names, lambda entry: f"../{self.path(entry)}")
        return f'<h2>Lineage</h2><div class="scroll">{drawn}</div>' if drawn else ""

    def _page(self, title: str, body: str, *, kind: str = "", path: str = "", up: str = "../") -> str:
        trail = f'<nav><a href="{up}index.html">Catalog</a> <span>{escape(path)}</span></nav>' if path else ""
        badge = f"<span class='kind'>{escape(kind)}</span>" if kind else ""
        taken = f"{self.snapshot.taken_at:%Y-%m-%d %H:%M} UTC"
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="stylesheet" href="{up}catalog.css"></head><body>{trail}'
            f"<h1>{escape(title)} {badge}</h1><main>{body}</main><footer>Snowmelt, {taken}</footer></body></html>\n"
        )


def _text(value: str | None) -> str:
    return escape(value or "")


def _listed(values: Iterable[str]) -> str:
    return ", ".join(escape(value) for value in values)


def _documentation(value: str | None) -> str:
    if value is not None and re.match(r"https?://\S+\Z", value):
        return f'<a href="{escape(value)}">{escape(value)}</a>'
    return _text(value)


def _described(item: NamedEntry) -> str:
    return f'<p class="about">{escape(item.description)}</p>' if item.description else ""


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in facts if value.strip())
    return f"<dl>{rows}</dl>" if rows else ""


def _columns(item: RelationEntry) -> str:
    rows = [
        [escape(c.name), escape(c.type), "" if c.nullable else "required", escape(c.description or ""),
         _listed(filter(None, (c.classification, *c.tags)))]
        for c in item.columns
    ]  # fmt: skip
    return _table(("column", "type", "", "description", "class"), rows)


def _quality(item: RelationEntry) -> str:
    """The checks of a table, and what each said last."""
    rows = [
        [escape(c.name), escape(c.definition), escape(c.severity.lower()), escape((c.status or "not run yet").lower()),
         f"{c.measured_at:%Y-%m-%d %H:%M}" if c.measured_at is not None else "", _text(c.message)]
        for c in item.quality
    ]  # fmt: skip
    head = ("check", "what", "severity", "last", "at", "")
    return f"<h3>Quality</h3>{_table(head, rows)}" if rows else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table></div>'
