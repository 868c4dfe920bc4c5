"""Leaves out the cells that a mutation deletes of itself, where a family orders by sequence (NEW_VERSION_BEHAVIOR).

All operations of a mutation have one sequence, so its markers mask none of its puts: right for a put after a delete.
A put before a delete has to go at once, because nothing could tell later that the delete came after it.
"""

from collections.abc import Callable, Collection, Iterable

from hbtable.encoding.cell_key import INVERT, Pair
from hbtable.model.mutation import DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION, PUT
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches_if_given


def stacks_of_own(by_stack: list[list[Pair]], families: Collection[bytes]) -> list[list[Pair]]:
    """As many for one mutation alone, for take_unmasked; the same where no family orders by sequence."""
    return [[] for _ in by_stack] if families else by_stack


@switches_if_given
def take_unmasked(
    pairs: list[Pair],
    row_bytes: int,
    families: Collection[bytes],
    own_by_stack: list[list[Pair]],
    by_stack: list[list[Pair]],
    pause: Callable[[], None] | None = None,
) -> list[Pair]:
    """The `pairs` of one mutation without the puts that a later one masks; `by_stack` gets those of `own_by_stack`.
    `row_bytes`: what of each key is the row's; `families`, as they stand in keys: those that order by sequence.
    `pause` lets others run between parts of very many."""
    if not families:
        return pairs

    def paced(pairs: Iterable[Pair]) -> Iterable[Pair]:
        return pairs if pause is None else with_pauses(pairs, pause)

    masked = _masked_by_later(paced(reversed(pairs)), row_bytes, families)
    for stack, own in zip(by_stack, own_by_stack, strict=True):
        stack += [pair for pair in paced(own) if id(pair) not in masked]
    return [pair for pair in paced(pairs) if id(pair) not in masked]


@switches_if_given
def _masked_by_later(newest_first: Iterable[Pair], row_bytes: int, families: Collection[bytes]) -> set[int]:
    """The id() of each."""
    upto: dict[tuple[bytes, bool], int] = {}  # (what of the key, whether of a whole family) -> the newest time masked
    exact: set[tuple[bytes, bool, int]] = set()
    masked: set[int] = set()
    for pair in newest_first:
        key = pair[0]
        family = key[: key.index(b"\x00", row_bytes)]
        if family[row_bytes:] not in families:
            continue
        column, timestamp, kind = key[:-18], INVERT - int.from_bytes(key[-18:-10], "big"), key[-10]
        if kind != PUT:
            of_family = kind in (DELETE_FAMILY, DELETE_FAMILY_VERSION)
            place = (family if of_family else column, of_family)
            if kind in (DELETE_VERSION, DELETE_FAMILY_VERSION):
                exact.add((*place, timestamp))
            else:
                upto[place] = max(upto.get(place, -1), timestamp)
        elif (
            timestamp <= max(upto.get((column, False), -1), upto.get((family, True), -1))
            or (column, False, timestamp) in exact
            or (family, True, timestamp) in exact
        ):
            masked.add(id(pair))
    return masked
