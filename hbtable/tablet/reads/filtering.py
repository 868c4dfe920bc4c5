"""The filter of a read or a scan of one tablet, made of its text. Whether it can run is known before the first row."""

from collections.abc import Callable
from functools import partial

from hbtable.errors import InvalidRequest
from hbtable.filters.asking import Ask
from hbtable.filters.evaluate import RowFilter, start
from hbtable.filters.expression import Expression
from hbtable.filters.grammar import parse
from hbtable.model.read import ScanRequest
from hbtable.model.values import check_bytes
from hbtable.switches import switches
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.cost_limit import CostLimit
from hbtable.tablet.reads.look_ahead import ask_worker
from hbtable.tablet.state import TabletState

Filtering = tuple[RowFilter, Callable[[], RowFilter]]
"""One to ask what the filter needs, and a function that makes one for a row."""


@switches
def filter_of_rows(text: bytes, pause: Callable[[], None], ask: Ask) -> Filtering:
    """One to ask what the filter needs, and a function that makes one for a row. InvalidRequest."""
    check_bytes("the filter", text)
    expression = parse(text, pause)
    row_filter = start(expression, pause=pause, ask=ask)
    row_filter.searches.check()
    return row_filter, partial(_fresh_filter, expression, pause, ask)


@switches
def _fresh_filter(expression: Expression, pause: Callable[[], None], ask: Ask) -> RowFilter:
    """Anew for each row: reads of single rows know nothing of each other."""
    pause()  # a thousand filters take 4 ms to start
    return start(expression, pause=pause, ask=ask)


@switches
def filter_of_scan(state: TabletState, request: ScanRequest, pacer: Pacer, cost: CostLimit) -> RowFilter:
    """InvalidRequest."""
    spec = request.spec
    assert spec.filter is not None
    check_bytes("the filter", spec.filter)
    if spec.raw:
        raise InvalidRequest("a raw scan shows what is stored as it is: it takes no filter")
    filter_state = request.position.filter_state if request.position is not None else b""
    expression = parse(spec.filter, pacer.pause)
    ask = ask_worker(state.environment.runtime, cost)
    row_filter = start(expression, request.reversed, filter_state, pacer.pause, ask)
    if request.position is None:
        row_filter.searches.check()
    return row_filter
