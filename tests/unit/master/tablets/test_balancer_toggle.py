"""The balancer's switch, when two people use it at the same moment; and what keeps it from going on."""

import pytest

from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.balancer import Balancer
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.unit.master.tablets.test_balancing import loads, tablet


def test_two_who_switch_at_once_are_both_obeyed_one_after_the_other() -> None:
    for seed in range(20):
        runtime = SimulatedRuntime(seed)

        def main(runtime: SimulatedRuntime = runtime) -> None:
            service = MemoryLockService(runtime)
            balancers = [
                Balancer(service.open_session(name), None, None, None, None)  # type: ignore[arg-type]
                for name in ("one", "two")
            ]
            for on in (False, True):
                before: list[bool] = []
                tasks = [
                    runtime.spawn(lambda one=one, on=on, before=before: before.append(one.toggle.turn(on)))
                    for one in balancers
                ]
                for task in tasks:
                    task.join()
                assert sorted(before) == [False, True], "the second saw what the first did"
                assert balancers[0].toggle.is_on() is on

        runtime.run(main)


@pytest.mark.parametrize(("interrupted", "moved"), [(False, 4), (True, 1)])
def test_a_round_ends_with_the_move_under_way_when_something_else_is_to_be_done(interrupted: bool, moved: int) -> None:
    runtime = SimulatedRuntime(1)
    moves: list[int] = []

    class Moves:
        def move(self, name: bytes, tablet_id: int, server: str, planned: object) -> None:
            moves.append(tablet_id)

    def main() -> str:
        session = MemoryLockService(runtime).open_session("master")
        tablets = [tablet(number, "a") for number in range(12)]
        reports = ServerReports(loads(tablets, "ab"), frozenset(), {})
        table = TableRecord(16, TableState.ENABLED, TableSchema(b"t", {b"f": FamilySchema(b"f")}))
        balancer = Balancer(session, None, lambda: reports, Moves(), lambda _: False)  # type: ignore[arg-type]
        return balancer.round([table], tablets, reports, lambda: interrupted)[0]

    assert "goes from a to b" in runtime.run(main)
    assert len(moves) == moved
