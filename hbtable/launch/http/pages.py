"""The optional HTTP port: /metrics for Prometheus, /livez and /readyz for supervisors, /slow for people.

/livez answers while the process can run at all; /readyz says whether clients should be sent here, and turns 503 as soon
as draining starts, before the port closes, so that a load balancer leaves in time. It also names damaged files, which
are no reason to leave.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hbtable.launch.http.metrics_export import CONTENT_TYPE

StartResponse = Callable[[str, list[tuple[str, str]]], object]
Page = Callable[[], tuple[str, str, bytes]]

_JSON: Final = "application/json"
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
    ) -> None:
        self._metrics_text = metrics
        self._not_ready = not_ready
        self._hub_lag_seconds = hub_lag_seconds
        self._slow_requests = slow_requests
        self._damage = damage
        self._pages: dict[str, Page] = {
            "/metrics": self._metrics,
            "/livez": self._livez,
            "/healthz": self._livez,
            "/readyz": self._readyz,
            "/slow": self._slow,
        }

    def __call__(self, environment: dict[str, object], start_response: StartResponse) -> Iterable[bytes]:
        page = self._pages.get(str(environment.get("PATH_INFO", "/")))
        if page is None:
            status, kind = "404 Not Found", "text/plain; charset=utf-8"
            body = f"There is {', '.join(self._pages)}.\n".encode()
        else:
            status, kind, body = page()
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [body]

    def _metrics(self) -> tuple[str, str, bytes]:
        return "200 OK", CONTENT_TYPE, self._metrics_text()

    def _livez(self) -> tuple[str, str, bytes]:
        lag = self._hub_lag_seconds()
        return _verdict([f"the hub was blocked for {lag:.1f} s"] if lag > MAX_HUB_LAG_SECONDS else [])

    def _readyz(self) -> tuple[str, str, bytes]:
        return _verdict(self._not_ready(), self._damage())

    def _slow(self) -> tuple[str, str, bytes]:
        return "200 OK", _JSON, json.dumps(self._slow_requests(), indent=1).encode() + b"\n"


def _verdict(reasons: list[str], damage: Sequence[str] = ()) -> tuple[str, str, bytes]:
    status = "503 Service Unavailable" if reasons else "200 OK"
    said: dict[str, object] = {"ok": not reasons, "reasons": reasons}
    if damage:
        said["damage"] = damage  # no reason to send clients elsewhere: all that is sound is served here
    return status, _JSON, json.dumps(said).encode() + b"\n"
