"""Refuses what a table that holds more than its limit of space does not take any more; the words are HBase's."""

from collections.abc import Iterable
from typing import Final

from hbtable.errors import SpaceLimitReached
from hbtable.model.additions import APPEND, INCREMENT
from hbtable.model.mutation import PUT, RowMutation
from hbtable.quotas.settings import SpacePolicy

_ADDING: Final = {PUT: "Puts", INCREMENT: "Increments", APPEND: "Appends"}


def check_writes(policy: SpacePolicy, mutations: Iterable[RowMutation]) -> None:
    """SpaceLimitReached. With NO_INSERTS deletes go on."""
    for mutation in mutations:
        for operation in mutation.operations:
            if operation[0] in _ADDING:
                raise refused(policy, _ADDING[operation[0]])
            if policy is not SpacePolicy.NO_INSERTS:
                raise refused(policy, "Deletes")


def refused(policy: SpacePolicy, what: str) -> SpaceLimitReached:
    """The error of a refused call, to be raised."""
    return SpaceLimitReached(f"{policy.name} {what} are disallowed due to a space quota.")
