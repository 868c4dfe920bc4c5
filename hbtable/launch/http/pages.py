"""The optional HTTP port: /metrics for Prometheus, /livez and /readyz for supervisors, /slow for people.

/livez answers while the process can run at all; /readyz says whether clients should be sent here, and turns 503 as soon
as draining starts, before the port closes, so that a load balancer leaves in time. It also names damaged files, and
says that the audit cannot be written, or that there are users and nobody is asked who he is, which are no reasons to
leave. Where users are asked, the other pages are for them (page_access.py).
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hbtable.launch.http.metrics_export import CONTENT_TYPE
from hbtable.launch.http.page_access import Environment, Needs, PageAccess
from hbtable.switches import switches

StartResponse = Callable[[str, list[tuple[str, str]]], object]
Page = Callable[[Environment], tuple[str, str, bytes]]

_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
MAX_HUB_LAG_SECONDS: Final = 5.0


class HttpPages:
    """A WSGI application. `metrics` returns the text of /metrics, and may switch; `not_ready` the reasons not to send
    clients here, and [] means ready."""

    def __init__(
        self,
        metrics: Callable[[], bytes],
        not_ready: Callable[[], list[str]],
        hub_lag_seconds: Callable[[], float],
        slow_requests: Callable[[], list[dict[str, object]]],
        damage: Callable[[], list[str]] = list,
        access: PageAccess | None = None,
        pause: Callable[[], object] = lambda: None,
        warnings: Callable[[], list[str]] = list,
    ) -> None:
        """`warnings`: of /readyz, beside that of the audit. `access`: None: everybody may see every page. `pause` lets
        other tasks run."""
        self._pause = pause
        self._access = access
        self._metrics_text = metrics
        self._not_ready = not_ready
        self._hub_lag_seconds = hub_lag_seconds
        self._slow_requests = slow_requests
        self._damage = damage
        self._others = warnings
        self.pages: dict[str, tuple[Needs, Page]] = {
            "/metrics": (Needs.USER, self._metrics),
            "/livez": (Needs.NOBODY, self._livez),
            "/healthz": (Needs.NOBODY, self._livez),
            "/readyz": (Needs.NOBODY, self._readyz),
            "/slow": (Needs.ADMINISTRATOR, self._slow),
        }
        """By path: who may see it, where that is asked, and what makes it."""

    @switches
    def __call__(self, environment: Environment, start_response: StartResponse) -> Iterable[bytes]:
        more: list[tuple[str, str]] = []
        found = self.pages.get(str(environment.get("PATH_INFO", "/")))
        if found is None:
            status, kind = "404 Not Found", _TEXT
            body = f"There is {', '.join(self.pages)}.\n".encode()
        else:
            needs, page = found
            refusal = None if self._access is None else self._access.refusal(needs, environment)
            if refusal is None:
                status, kind, body = page(environment)
            else:
                status, more, kind, body = refusal.status, refusal.headers, _TEXT, f"{refusal.text}\n".encode()
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body))), *more])
        return [body]

    @switches
    def _metrics(self, environment: Environment) -> tuple[str, str, bytes]:
        text = self._metrics_text()
        if self._access is not None:
            text = self._access.visible(environment, text, self._pause)
        return "200 OK", CONTENT_TYPE, text

    def _livez(self, _: Environment) -> tuple[str, str, bytes]:
        lag = self._hub_lag_seconds()
        return _verdict([f"the hub was blocked for {lag:.1f} s"] if lag > MAX_HUB_LAG_SECONDS else [])

    def _readyz(self, _: Environment) -> tuple[str, str, bytes]:
        """Messages about damage name tables and rows: not for everybody."""
        return _verdict(self._not_ready(), self._damage() if self._access is None else [], self._warnings())

    def _warnings(self) -> list[str]:
        audit = self._access.audit if self._access is not None else None
        own = ["the audit cannot be written"] if audit is not None and audit.problem() else []
        return [*own, *self._others()]

    def _slow(self, _: Environment) -> tuple[str, str, bytes]:
        return "200 OK", _JSON, json.dumps(self._slow_requests(), indent=1).encode() + b"\n"


def _verdict(reasons: list[str], damage: Sequence[str] = (), warnings: Sequence[str] = ()) -> tuple[str, str, bytes]:
    status = "503 Service Unavailable" if reasons else "200 OK"
    said: dict[str, object] = {"ok": not reasons, "reasons": reasons}
    if damage:
        said["damage"] = damage  # no reason to send clients elsewhere: all that is sound is served here
    if warnings:
        said["warnings"] = warnings  # nor this: a disk that all share would take every server out of a balancer
    return status, _JSON, json.dumps(said).encode() + b"\n"
