"""The needs of tablets of a log: the part in which both ways of writing one are alike (interface.CommitLog)."""

from abc import ABC, abstractmethod

from hbtable.commitlog.ledger import SegmentLedger
from hbtable.errors import HbtableError


class TabletNeeds(ABC):
    """Implements the calls of CommitLog by which tablets say what they need. None switches."""

    __slots__ = ("_ledger",)

    def __init__(self) -> None:
        self._ledger = SegmentLedger()

    def tablets_of_oldest_segment(self) -> list[int]:
        return self._ledger.tablets_of_oldest()

    def needed(self, tablet_id: int, first_needed_sequence: int) -> None:
        """As CommitLog.needed; files nobody needs are deleted a little later."""
        self._ledger.needed(tablet_id, first_needed_sequence)
        self._plan_release()

    def forget(self, tablet_id: int) -> None:
        """As CommitLog.forget."""
        self._ledger.forget(tablet_id)
        self._plan_release()

    def highest_needed(self, tablet_id: int) -> int:
        return self._ledger.highest(tablet_id)

    def stop_taking(self, error: HbtableError) -> None:
        """As CommitLog.stop_taking."""
        self._break(error)

    @abstractmethod
    def _plan_release(self) -> None:
        """Has files deleted soon, if there are any that nobody needs."""

    @abstractmethod
    def _break(self, error: BaseException) -> None:
        """Nothing is acknowledged from now on."""
