"""Looks whether mutations are what was sent: their checksums were taken then (decision 23)."""

from collections.abc import Callable, Sequence

from hbtable.errors import MemoryDamaged
from hbtable.model.mutation import RowMutation
from hbtable.model.mutation import checksum_in_parts as checksum_of_mutation_in_parts
from hbtable.model.mutation import checksum_of as checksum_of_mutation
from hbtable.switches import switches, switches_if_given


@switches
def check_unchanged_in_parts(mutations: Sequence[RowMutation], pause: Callable[[], None]) -> None:
    """As check_unchanged(), of very many operations. *Switches* between them."""
    check_unchanged(mutations, lambda mutation: checksum_of_mutation_in_parts(mutation, pause))


@switches_if_given
def check_unchanged(
    mutations: Sequence[RowMutation], checksum: Callable[[RowMutation], int] = checksum_of_mutation
) -> None:
    """MemoryDamaged: one is not what it was when its checksum was taken, in this process or in the one it came from."""
    for mutation in mutations:
        if not mutation.checksum:
            continue
        try:
            changed = checksum(mutation) != mutation.checksum
        except (TypeError, ValueError):
            changed = False  # whoever looks at the types says what is wrong
        if changed:
            raise MemoryDamaged(
                f"a mutation of row {mutation.row[:64]!r} changed in memory on its way to the tablet: nothing of the "
                "call was applied; send it again, and have the memory of the machines between tested"
            )
