"""The error of a batch of which some rows were written and others were not: it says which.

A batch is no transaction: each tablet takes its rows or refuses them, and what one took stays, as with HBase's client.
To send all of a batch once more does no harm to puts and deletes.
"""

import copy
from collections.abc import Collection, Iterable, Sequence
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


def raise_failed(
    outcomes: Sequence[HbtableError | None], groups: Sequence[Sequence[RowMutation]], mutations: Sequence[RowMutation]
) -> None:
    """Raises an error when one of these groups of `mutations` was not written."""
    ended = zip(outcomes, groups, strict=True)
    failed = [part for outcome, group in ended if outcome is not None for part in _parts_of(outcome, group)]
    if failed:
        raise partly_written(failed, mutations)


def ended_early(error: HbtableError, mutations: Sequence[RowMutation], first: int, stop: int) -> HbtableError:
    """The error of `mutations` when those from `first` to `stop` ended with `error`, and later ones were not sent."""
    parts = [*_parts_of(error, mutations[first:stop])]
    if stop < len(mutations):
        parts.append(Part(Unavailable("not sent"), set(rows_of(mutations[stop:]))))
    return partly_written(parts, mutations)


def _parts_of(error: HbtableError, mutations: Sequence[RowMutation]) -> Sequence[Part]:
    """The parts that were not written of these mutations, whose writing ended with `error`."""
    told = _told(error)
    return told.parts if told else [Part(error, set(rows_of(mutations)))]


def partly_written(failed: Sequence[Part], mutations: Sequence[RowMutation]) -> HbtableError:
    """The first error of these parts of `mutations`, of which the rest was written. It says so, if there is any."""
    first = failed[0].error
    refused = [part for part in failed if isinstance(part.error, _NOT_APPLIED)]
    unknown = [part for part in failed if not isinstance(part.error, _NOT_APPLIED)]
    every = set(rows_of(mutations))
    written = len(every.difference(*(part.rows for part in failed)))
    if not written:
        return first
    told = _told(first)
    said = told.said if told else str(first)
    counts = [f"{written} were written"]
    if refused:
        counts.append(f"{_number(refused)} were not ({_rows(refused)})")
    if unknown:
        counts.append(f"{_number(unknown)} may have been ({_rows(unknown)})")
    error = copy.copy(first)
    error.args = (f"{said}; of the {len(every)} rows of the batch {', '.join(counts)}",)
    vars(error)["told"] = _Told(said, failed)
    return error


def _told(error: HbtableError) -> _Told | None:
    told = vars(error).get("told")
    return told if isinstance(told, _Told) else None


def _number(parts: Iterable[Part]) -> int:
    return len(set().union(*(part.rows for part in parts)))


def _rows(parts: Sequence[Part]) -> str:
    """Of each part the first and the last row."""
    ranges = sorted((min(part.rows), max(part.rows)) for part in parts)
    texts = [shown(first) if first == last else f"{shown(first)} to {shown(last)}" for first, last in ranges]
    more = f" and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else ""
    return f"{', '.join(texts[:_MOST_SHOWN])}{more}"
