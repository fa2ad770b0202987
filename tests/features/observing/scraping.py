"""What GET /metrics says, as Prometheus reads it."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from snowmelt.runtime.account import Account
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials

LOCAL = ("127.0.0.1", 40_000)
Scraped = dict[tuple[str, frozenset[tuple[str, str]]], float]


def server(account: Account) -> HttpServer:
    return HttpServer(account, load_credentials(account.data_dir, "secret")[0])


def text(account: Account) -> str:
    answer = TestClient(server(account).app, client=LOCAL).get("/metrics")
    assert answer.status_code == 200
    return answer.text


def scraped(account: Account) -> Scraped:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text(account))
        for sample in family.samples
    }


def value(found: Scraped, metric: str, **labels: str) -> float:
    (one,) = [each for (called, given), each in found.items() if called == metric and given >= set(labels.items())]
    return one
