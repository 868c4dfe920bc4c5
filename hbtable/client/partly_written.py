"""The error of a batch of which some rows were written and others were not: it says which.

A batch is no transaction: each tablet takes its rows or refuses them, and what one took stays, as with HBase's client.
To send all of a batch once more does no harm to puts and deletes.
"""

import copy
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from hbtable.errors import (
    AlreadyExists,
    DataDamaged,
    HbtableError,
    InvalidRequest,
    NotFound,
    StaleLocation,
    Unavailable,
)
from hbtable.model.mutation import RowMutation
from hbtable.model.put_batch import rows_of
from hbtable.model.values import shown
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches

_NOT_APPLIED: Final = (AlreadyExists, DataDamaged, InvalidRequest, NotFound, StaleLocation, Unavailable)
"""These promise that nothing was applied. After any other error, of a log that failed say, it may have been."""
_MOST_SHOWN: Final = 3
"""Parts of each kind that an error names by their rows."""


class Part(NamedTuple):
    """Rows that were sent together and not written, or perhaps not: why."""

    error: HbtableError
    rows: Collection[bytes]


class _Told(NamedTuple):
    """Kept by an error of this kind, for the batch that its own was a part of."""

    said: str
    """Its message without this."""
    parts: Sequence[Part]


@switches
def raise_failed(
    outcomes: Sequence[HbtableError | None],
    groups: Sequence[Sequence[RowMutation]],
    mutations: Sequence[RowMutation],
    pause: Callable[[], object],
) -> None:
    """Raises an error when one of these groups of `mutations` was not written."""
    ended = zip(outcomes, groups, strict=True)
    failed = [part for outcome, group in ended if outcome is not None for part in _parts_of(outcome, group, pause)]
    if failed:
        raise partly_written(failed, mutations, pause)


@switches
def ended_early(
    error: HbtableError, mutations: Sequence[RowMutation], first: int, stop: int, pause: Callable[[], object]
) -> HbtableError:
    """The error of `mutations` when those from `first` to `stop` ended with `error`, and later ones were not sent.
    There may be a million: *switches* by `pause`."""
    parts = [*_parts_of(error, mutations[first:stop], pause)]
    if stop < len(mutations):
        parts.append(Part(Unavailable("not sent"), _rows_of(mutations[stop:], pause)))
    ended = partly_written(parts, mutations, pause, _rows_of(mutations[:first], pause))
    vars(ended).pop("told", None)  # nobody adds to it, and it would keep every row as long as somebody keeps the error
    return ended


@switches
def _parts_of(error: HbtableError, mutations: Sequence[RowMutation], pause: Callable[[], object]) -> Sequence[Part]:
    """The parts that were not written of these mutations, whose writing ended with `error`."""
    told = _told(error)
    return told.parts if told else [Part(error, _rows_of(mutations, pause))]


@switches
def _rows_of(mutations: Sequence[RowMutation], pause: Callable[[], object]) -> set[bytes]:
    """Without what is no row: a later part of a batch may hold some, that nobody looked at yet."""
    return {row for row in with_pauses(rows_of(mutations), pause) if type(row) is bytes}


@switches
def partly_written(
    failed: Sequence[Part],
    mutations: Sequence[RowMutation],
    pause: Callable[[], object],
    early: Collection[bytes] = frozenset(),
) -> HbtableError:
    """The first error of these parts of `mutations`, of which the rest was written. It says so, if there is any, and if
    some of the parts may have been written where others were not. `early`: the rows whose changes before these parts
    were written."""
    first = failed[0].error
    refused = [part for part in failed if part.rows and isinstance(part.error, _NOT_APPLIED)]
    unknown = [part for part in failed if part.rows and not isinstance(part.error, _NOT_APPLIED)]
    refused_rows, unknown_rows = _rows_of_parts(refused, pause), _rows_of_parts(unknown, pause)
    unknown_alone = [row for row in with_pauses(unknown_rows, pause) if row not in refused_rows]
    again = sum(row in early for rows in (refused_rows, unknown_alone) for row in with_pauses(rows, pause))
    every = len(_rows_of(mutations, pause))
    written = every - len(refused_rows) - len(unknown_alone)
    if not written and not again and not (refused and unknown):
        return first
    told = _told(first)
    said = told.said if told else str(first)
    counts = [f"{written} were written"]
    if refused:
        counts.append(f"{len(refused_rows)} were not ({_ranges(refused, pause)})")
    if unknown:
        counts.append(f"{len(unknown_rows)} may have been ({_ranges(unknown, pause)})")
    if again:
        counts.append(f"and earlier changes of {again} of these were written")
    error = copy.copy(first)
    error.args = (f"{said}; of the {every} rows of the batch {', '.join(counts)}",)
    vars(error)["told"] = _Told(said, failed)
    return error


@switches
def not_written(
    error: HbtableError, mutations: Sequence[RowMutation], pause: Callable[[], object]
) -> Sequence[RowMutation]:
    """Those of `mutations`, whose writing ended with `error`, that were surely not written, in their order. Of more
    than a single call's an error does not tell them apart (ended_early)."""
    told = _told(error)
    if told is None:
        return mutations if isinstance(error, _NOT_APPLIED) else ()
    rows = _rows_of_parts([part for part in told.parts if isinstance(part.error, _NOT_APPLIED)], pause)
    return [mutation for mutation in with_pauses(mutations, pause) if mutation.row in rows]


def _told(error: HbtableError) -> _Told | None:
    told = vars(error).get("told")
    return told if isinstance(told, _Told) else None


@switches
def _rows_of_parts(parts: Iterable[Part], pause: Callable[[], object]) -> set[bytes]:
    return set(with_pauses((row for part in parts for row in part.rows), pause))


@switches
def _ranges(parts: Sequence[Part], pause: Callable[[], object]) -> str:
    """Of each part the first and the last row."""
    ranges = sorted((min(with_pauses(part.rows, pause)), max(with_pauses(part.rows, pause))) for part in parts)
    texts = [shown(first) if first == last else f"{shown(first)} to {shown(last)}" for first, last in ranges]
    more = f" and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else ""
    return f"{', '.join(texts[:_MOST_SHOWN])}{more}"
