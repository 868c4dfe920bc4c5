"""One operation that asks servers again shares its time among all its tablets, and gives none up unasked."""

from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import OutcomeUnknown, no_answer
from hbtable.master.tablets.unanswered_unloads import TimeToAsk, UnansweredUnloads
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord
from hbtable.testing.simulated.runtime import SimulatedRuntime


def record(number: int, owner: str) -> TabletRecord:
    return TabletRecord(table_id=9, tablet_id=number, range=RowRange(), created_millis=0, owner=owner)


@pytest.mark.parametrize("answers", [True, False], ids=["it answers then", "it does not"])
def test_a_server_is_asked_once_more_though_the_time_is_over(answers: bool) -> None:
    """A connection to another server broke 15 s before, and is well again: this one's first lost answer is no reason
    to give all its tablets up. One that does not answer is not asked about the next."""
    runtime = SimulatedRuntime(1)
    asked: list[str] = []

    def ask(tablet: TabletRecord) -> None:
        asked.append(tablet.owner)
        if tablet.owner == "b" and not answers:
            raise no_answer("the connection broke")

    def body() -> None:
        catalog: Any = SimpleNamespace(read_tablet=lambda table, stop: current)
        unloads, time = UnansweredUnloads(runtime, catalog, ask), TimeToAsk(10.0)
        unloads.lives = lambda server: True
        current = record(1, "a")
        unloads.ask_again(current, no_answer("the connection broke"), time)
        runtime.sleep(15.0)
        current = record(2, "b")
        if answers:
            unloads.ask_again(current, no_answer("the connection broke"), time)
            time.check("b")
        else:
            with pytest.raises(OutcomeUnknown):
                unloads.ask_again(current, no_answer("the connection broke"), time)
            with pytest.raises(OutcomeUnknown):
                time.check("b")

    runtime.run(body)
    assert asked == ["a", "b"]
