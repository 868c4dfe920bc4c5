"""When a tablet server says that a page which it gave out is still what it would answer."""

from typing import Any

import pytest

from hbtable.metrics.registry import Registry
from hbtable.tabletserver.server import TabletServer


class Tablet:
    """Nothing but the answer to whether its pages are valid."""

    def __init__(self) -> None:
        self.unchanged = True
        self.may_be_valid = True

    def valid_from_now(self) -> Any:
        return (lambda: self.unchanged) if self.may_be_valid else None


class Rig:
    """A server with tablet 7."""

    def __init__(self) -> None:
        self.holds_lock = True
        self.tablets: dict[int, Any] = {7: Tablet()}
        self.server = TabletServer("s", self.tablets, lambda: self.holds_lock, lambda: True, lambda: None, Registry())


def test_a_page_of_a_tablet_that_did_not_change_is_valid() -> None:
    is_valid = Rig().server.valid_from_now(7)
    assert is_valid is not None
    assert is_valid()


@pytest.mark.parametrize(
    "change",
    [
        lambda rig: setattr(rig.tablets[7], "unchanged", False),
        lambda rig: rig.tablets.pop(7),
        lambda rig: rig.tablets.update({7: Tablet()}),
        lambda rig: setattr(rig, "holds_lock", False),
    ],
    ids=["written to", "unloaded", "loaded again", "lock lost"],
)
def test_after_a_change_it_is_not(change: Any) -> None:
    rig = Rig()
    is_valid = rig.server.valid_from_now(7)
    assert is_valid is not None
    change(rig)
    assert not is_valid()


def test_of_other_tablets_it_is_never_known() -> None:
    rig = Rig()
    assert rig.server.valid_from_now(8) is None
    rig.tablets[7].may_be_valid = False
    assert rig.server.valid_from_now(7) is None
