"""Pages of a serving process for its operator: its version, how late its hub is, and whether to send clients to it.

One for the single server and for both roles of a cluster; what each page answers is in pages.py.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, final

from hbtable import __version__
from hbtable.launch.cycle_collector import CycleCollector
from hbtable.launch.http.page_access import PageAccess
from hbtable.launch.log_lines import dropped_lines
from hbtable.lockservice.interface import Session
from hbtable.metrics.registry import Registry
from hbtable.runtime.busy_poll import BusyPoll
from hbtable.runtime.hub_lag import HubLag
from hbtable.runtime.hub_turns import HubTurns
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

if TYPE_CHECKING:
    from hbtable.runtime.network.http import HttpListener


@final
class ProcessStatus:
    """Serves the HTTP port of a process, measures its hub, and collects Python's garbage. open() once, close() once.
    `is_lost`: whether this process may not serve any more, though its session goes on."""

    def __init__(
        self,
        runtime: Runtime,
        registry: Registry,
        session: Session,
        is_lost: Callable[[], bool] = lambda: False,
        clock: Callable[[], str] = lambda: "",
        unreachable: Callable[[], list[str]] = list,
        broken: Callable[[], list[str]] = list,
        busy_poll_seconds: float = 0.0,
        not_served: Callable[[], list[str]] = list,
    ) -> None:
        """`clock`: what is wrong with the wall clock; "": nothing. `unreachable`: who reaches whom no more. `broken`:
        why nothing can be written until this process is started again. `busy_poll_seconds`: how long the hub looks for
        the next request before it sleeps; 0: not at all. `not_served`: why those who come now would wait."""
        self._runtime = runtime
        self._registry = registry
        self._session = session
        self._is_lost = is_lost
        self._clock = clock
        self._unreachable = unreachable
        self._broken = broken
        self._not_served = not_served
        self._hub_lag = HubLag(runtime, registry)
        self._hub_turns = HubTurns(registry)
        self._busy_poll = BusyPoll(busy_poll_seconds)
        self._cycle_collector = CycleCollector(runtime)
        self._draining = False
        self._listener: HttpListener | None = None

    @switches
    def open(
        self,
        host: str,
        port: int,
        slow_requests: Callable[[], list[dict[str, object]]] = list,
        damage: Callable[[], list[str]] = list,
        *,
        access: PageAccess | None,
        warnings: Callable[[], list[str]] = list,
    ) -> None:
        """`port` 0: no pages. `damage`: messages about files. `warnings`: further ones of /readyz. `access`: None:
        everybody may see every page. Unavailable when the port is in use."""
        self._registry.gauge("hbtable_build_info", "1; the label says which version.", lambda: 1.0, version=__version__)
        self._registry.gauge(
            "hbtable_log_lines_dropped", "Lines of the log that nobody read from stderr in time.", dropped_lines
        )
        self._registry.gauge(
            "hbtable_task_deaths",
            "How often a background task died of a bug.",
            lambda: float(self._runtime.deaths.total),
        )
        self._busy_poll.start()  # before the measurement of turns, which then ends a turn before it: looking is no work
        self._hub_lag.start()
        self._cycle_collector.start()
        if access is not None and access.audit is not None:
            audit = access.audit
            self._registry.gauge(
                "hbtable_audit_lines_lost", "Lines of the audit that could not be written.", lambda: float(audit.lost())
            )
        if port:
            self._hub_turns.start()  # each turn pays for it, and nothing but a page shows it
            lag = self._hub_lag.lag_seconds
            pause = partial(self._runtime.sleep, 0)
            # Here: a server without pages takes 3 MB less.
            from hbtable.launch.http.metrics_export import MetricsPage
            from hbtable.launch.http.pages import HttpPages
            from hbtable.runtime.network.http import serve_http

            text = MetricsPage(self._runtime, self._registry).text
            pages = HttpPages(text, self.not_ready, lag, slow_requests, damage, access, pause, warnings)
            self._listener = serve_http(host, port, pages)

    def not_ready(self) -> list[str]:
        """Reasons not to send clients here. A standby master is ready: to take over is what it is there for."""
        reasons = ["draining"] if self._draining else []
        if self._is_lost() or self._session.over():
            reasons.append("the lock was lost")
        elif not self._session.valid():
            reasons.append("the lock service cannot be reached")
        jump = self._clock()
        clock = [jump] if jump else []
        others = [*self._not_served(), *self._unreachable(), *self._broken()]
        return [*reasons, *clock, *others, *self._runtime.deaths.recent()]

    def drain(self) -> None:
        """/readyz says from now on that the process is not ready."""
        self._draining = True

    def pages(self, host: str) -> str:
        """The addresses of the pages, for people; "" when there are none."""
        if self._listener is None:
            return ""
        return f"http://{host}:{self._listener.port}/metrics  /livez  /readyz  /slow"

    @switches
    def close(self) -> None:
        """To be called last: /readyz says draining for as long as it does. Idempotent."""
        self._cycle_collector.stop()
        self._hub_turns.stop()
        self._busy_poll.stop()
        self._hub_lag.stop()
        if self._listener is not None:
            self._listener.close()
