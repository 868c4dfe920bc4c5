"""The parts of a call with very many rows: each is a commit, which its tablet checks and applies without a switch.

The more rows in a part, the fewer syncs of the log; the fewer, the shorter is what other clients wait for. So the parts
are small only while there are others.
"""

from collections.abc import Sequence
from typing import Final

from hbtable.model.mutation import RowMutation
from hbtable.model.put_batch import puts_in_columns
from hbtable.runtime.interface import Runtime

MOST_ROWS: Final = 1000
"""Of a call that is not divided."""
_COLUMN_ROWS_BESIDE: Final = 400
"""Puts into one column, beside other clients: a millisecond."""
_ROWS_BESIDE: Final = 250
"""Any others. A row of one operation takes 8 us."""


def rows_of_a_part(runtime: Runtime, mutations: Sequence[RowMutation]) -> int:
    """The number of rows that are to be written together now, of a call with more than MOST_ROWS."""
    if not runtime.is_shared():
        return MOST_ROWS
    return _ROWS_BESIDE if puts_in_columns(mutations) is None else _COLUMN_ROWS_BESIDE
