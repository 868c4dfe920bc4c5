"""The HTTP pages: metrics in Prometheus' format, health in words."""

import json

import pytest

from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountFile
from hbtable.access.verification import Verifier
from hbtable.hbase.audit import AuditTrail
from hbtable.launch.http.metrics_export import MetricsPage, render
from hbtable.launch.http.page_access import PageAccess
from hbtable.launch.http.pages import HttpPages
from hbtable.metrics.registry import Registry
from hbtable.testing.simulated.runtime import SimulatedRuntime


def ask(pages: HttpPages, path: str) -> tuple[str, bytes]:
    seen: list[str] = []
    body = b"".join(pages({"PATH_INFO": path}, lambda status, headers: seen.append(status)))
    return seen[0], body


def pages(reasons: list[str], lag: float = 0.0) -> HttpPages:
    return HttpPages(bytes, lambda: reasons, lambda: lag, lambda: [{"method": "get", "seconds": 1.5}])


def test_counters_gauges_and_histograms_are_exported() -> None:
    registry = Registry()
    registry.counter("hbtable_rpc_requests_total", "Calls.", method="get", code="ok").value = 3
    registry.gauge("hbtable_tablets", "Served.", lambda: 7)
    registry.histogram("hbtable_rpc_seconds", "Time.", method="get").observe(0.002)
    text = render(registry).decode()
    assert 'hbtable_rpc_requests_total{code="ok",method="get"} 3.0' in text
    assert "hbtable_tablets 7.0" in text
    assert 'hbtable_rpc_seconds_bucket{le="0.001",method="get"} 0.0' in text
    assert 'hbtable_rpc_seconds_bucket{le="0.0025",method="get"} 1.0' in text
    assert 'hbtable_rpc_seconds_count{method="get"} 1.0' in text


def test_readyz_gives_its_reasons() -> None:
    assert ask(pages([]), "/readyz")[0] == "200 OK"
    status, body = ask(pages(["draining"]), "/readyz")
    assert status.startswith("503")
    assert json.loads(body) == {"ok": False, "reasons": ["draining"]}


def test_damage_is_shown_and_sends_nobody_away() -> None:
    page = HttpPages(bytes, list, lambda: 0.0, list, lambda: ["a file is damaged"])
    status, body = ask(page, "/readyz")
    assert status == "200 OK"
    assert json.loads(body) == {"ok": True, "reasons": [], "damage": ["a file is damaged"]}


def test_an_audit_that_cannot_be_written_is_shown_and_sends_nobody_away() -> None:
    """A disk that all servers share would take each of them out of a balancer."""
    problem = ["No space left on device"]
    audit = AuditTrail(lambda line: None, lambda: 0, lambda: problem[0])
    verifier = Verifier(SimulatedRuntime(seed=1), AccountFile("none"), AuthOptions(enabled=True))
    access = PageAccess(verifier, lambda _: False, lambda *_: False, False, lambda *_: None, audit)
    page = HttpPages(bytes, list, lambda: 0.0, list, access=access)
    status, body = ask(page, "/readyz")
    assert status == "200 OK"
    assert json.loads(body) == {"ok": True, "reasons": [], "warnings": ["the audit cannot be written"]}
    problem[0] = ""
    assert json.loads(ask(page, "/readyz")[1]) == {"ok": True, "reasons": []}


def test_livez_fails_when_the_hub_is_stuck() -> None:
    assert ask(pages([]), "/livez")[0] == "200 OK"
    assert ask(pages([], lag=9.0), "/livez")[0].startswith("503")


def test_an_unknown_page_lists_the_known_ones() -> None:
    status, body = ask(pages([]), "/nothing")
    assert status.startswith("404")
    assert b"/metrics" in body


def test_slow_requests_are_shown_whole() -> None:
    assert json.loads(ask(pages([]), "/slow")[1]) == [{"method": "get", "seconds": 1.5}]


def test_metrics_are_rendered_once_a_second_however_many_ask() -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        registry = Registry()
        looks: list[float] = []
        registry.gauge("hbtable_looks", "Looks.", lambda: looks.append(runtime.clock_seconds()) or 1.0)
        page = MetricsPage(runtime, registry)
        texts: list[bytes] = []
        for _ in range(50):
            runtime.spawn(lambda: texts.append(page.text()))
        while len(texts) < 50:
            runtime.sleep(0.1)
        assert len(looks) == 1
        assert all(b"hbtable_looks 1.0" in text for text in texts)
        page.text()
        assert len(looks) == 1
        runtime.sleep(1.0)
        page.text()
        assert len(looks) == 2

    runtime.run(life)


def test_metrics_that_could_not_be_rendered_are_tried_again() -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        registry = Registry()
        fails = [True]

        def level() -> float:
            if fails[0]:
                raise ValueError("a bug")
            return 7.0

        registry.gauge("hbtable_level", "Level.", level)
        page = MetricsPage(runtime, registry)
        with pytest.raises(ValueError, match="a bug"):
            page.text()
        fails[0] = False
        assert b"hbtable_level 7.0" in page.text()

    runtime.run(life)
