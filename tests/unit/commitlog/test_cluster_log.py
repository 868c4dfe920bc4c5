"""What the logs of both kinds of cluster promise: acknowledged is found, refused is not, fenced says so."""

import pytest

from hbtable.commitlog.recovery.manifest import LogFile, list_log
from hbtable.commitlog.recovery.reading import read_log
from hbtable.errors import Corruption, HbtableError, LockLost, OutOfSpace, Stalled, StorageFailed, Unavailable
from hbtable.fs.interface import HDFS, WEBHDFS
from tests.harness.cluster_log import FOLDER, ClusterLog
from tests.harness.tiers import quick_first

STALLED = Stalled("no answer")
NO_ROOM = OutOfSpace("no room left")
KINDS = [HDFS, WEBHDFS]
both = pytest.mark.parametrize("kind", KINDS)
WRITES = {HDFS: ("create", "append", "sync"), WEBHDFS: ("put_new",)}
each_write = pytest.mark.parametrize(("kind", "operation"), [(kind, name) for kind in KINDS for name in WRITES[kind]])


@both
def test_what_is_acknowledged_was_applied_in_order_and_is_read_back(kind) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open()
        tasks = [bench.begin(log, tablet, 1) for tablet in range(20)]
        for task in tasks:
            task.join()
        assert bench.applied == bench.called == bench.written()
        log.close()
        assert bench.written() == bench.called
        with pytest.raises(Unavailable):
            bench.commit(log, 1, 2)

    bench.run(main)


@each_write
@pytest.mark.parametrize("applied", [False, True])
def test_a_stalled_call_costs_a_pause_and_nothing_else(kind, operation, applied) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open()
        bench.commit(log, 1, 1)
        for sequence in range(2, 6):
            bench.plan.fail(operation, STALLED, path="logs/", applied=applied)
            before = bench.runtime.clock_seconds()
            bench.commit(log, 1, sequence)
            assert bench.runtime.clock_seconds() - before < 1
        bench.plan.clear()
        assert bench.applied == bench.written() == bench.called
        log.close()
        assert bench.written() == bench.called

    bench.run(main)


@each_write
def test_a_call_that_takes_for_ever_is_hedged(kind, operation) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open(hedge_seconds=0.3)
        bench.commit(log, 1, 1)
        bench.plan.fail("append" if kind == HDFS else "nothing", STALLED, path="logs/")
        bench.plan.delay(operation, 1000, path="logs/", nth=1, times=1)
        before = bench.runtime.clock_seconds()
        bench.commit(log, 1, 2)
        assert 0.3 <= bench.runtime.clock_seconds() - before < 1
        for sequence in range(3, 9):
            bench.commit(log, 1, sequence)
        assert bench.applied == bench.written() == bench.called
        bench.runtime.sleep(2000)  # the late call takes effect
        assert bench.written() == bench.called
        bench.commit(log, 1, 9)
        log.close()
        assert bench.written() == bench.called

    bench.run(main)


@both
def test_nothing_confirmed_for_too_long_breaks_the_log_and_says_so_once(kind) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open(give_up_seconds=5.0)
        bench.commit(log, 1, 1)
        for operation in WRITES[kind]:
            bench.plan.fail(operation, STALLED, path="logs/", times=-1)
        tasks = [bench.begin(log, tablet, 2) for tablet in range(9)]
        for task in tasks:
            task.join()
        assert all(type(bench.errors[tablet, 2]) is StorageFailed for tablet in range(9))
        assert bench.lost == 1
        assert bench.applied == [(1, 1)]
        with pytest.raises(StorageFailed):
            bench.commit(log, 1, 3)
        with pytest.raises(StorageFailed):
            log.close()

    bench.run(main)


@both
def test_a_fenced_log_acknowledges_nothing_more_and_stops_the_server(kind) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open()
        bench.commit(log, 1, 1)
        bench.put_marker()
        for file in bench.files():
            bench.memory.seal(f"logs/server-1/{file}")
        with pytest.raises(LockLost):
            bench.commit(log, 1, 2)
        with pytest.raises(LockLost):
            bench.commit(log, 1, 3)
        assert bench.applied == [(1, 1)]
        assert bench.lost == 1
        with pytest.raises(LockLost):
            log.close()

    bench.run(main)


@both
def test_a_fenced_server_is_told_to_stop_and_a_failed_one_to_restart_and_each_that_only(kind, caplog) -> None:
    """In the operator's log, once, and to every caller the same."""
    bench = ClusterLog(kind)

    def reason(tablet: int, expected: type[HbtableError]) -> str:
        caplog.clear()
        log = bench.open(give_up_seconds=1.0, hedge_seconds=0.1)
        if expected is LockLost:
            bench.put_marker()
        for operation in WRITES[kind]:
            bench.plan.fail(operation, STALLED, path="logs/", times=1 if expected is LockLost else -1)
        with pytest.raises(expected) as first:
            bench.commit(log, tablet, 1)
        with pytest.raises(expected) as second:
            log.close()
        bench.plan.clear()
        (line,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert line == str(first.value) == str(second.value)
        return line

    fenced = bench.run(reason, 1, LockLost)
    assert "logs/server-1 was fenced" in fenced
    assert "must stop" in fenced
    assert "restart" not in fenced
    bench = ClusterLog(kind)
    failed = bench.run(reason, 2, StorageFailed)
    assert "restart this tablet server: nothing was confirmed for 1 s" in failed
    assert "stop" not in failed


@both
def test_a_log_that_was_fenced_before_it_began_does_not_begin(kind) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        bench.put_marker()
        with pytest.raises(LockLost):
            bench.open()

    bench.run(main)


@both
def test_an_unknown_answer_about_the_fence_is_not_a_no(kind) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open(give_up_seconds=5.0)
        bench.plan.fail("status", Unavailable("away"), path="fenced/", times=-1)
        if kind == HDFS:
            bench.plan.fail("sync", STALLED, path="logs/")
        task = bench.begin(log, 1, 1)
        bench.runtime.sleep(3)
        assert bench.applied == []
        bench.plan.clear()
        task.join()
        assert bench.applied == [(1, 1)] == bench.written()
        bench.plan.fail("status", Unavailable("away"), path="fenced/", times=-1)
        bench.plan.fail("sync", STALLED, path="logs/")
        with pytest.raises(StorageFailed):
            bench.commit(log, 1, 2)
        assert bench.applied == [(1, 1)]

    bench.run(main)


@pytest.mark.parametrize(("kind", "operation"), [(HDFS, "append"), (HDFS, "sync"), (WEBHDFS, "put_new")])
@pytest.mark.parametrize("applied", [False, True])
def test_a_full_file_system_refuses_and_what_was_refused_does_not_come_back(kind, operation, applied) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open()
        bench.commit(log, 1, 1)
        bench.plan.fail(operation, NO_ROOM, path="logs/", times=-1, applied=applied)
        refused = [(tablet, 2) for tablet in range(9)]
        for task in [bench.begin(log, *change) for change in refused]:
            task.join()
        assert all(isinstance(bench.errors[change], OutOfSpace) for change in refused)
        bench.plan.clear()
        bench.commit(log, 1, 3)
        assert bench.applied == bench.written() == [(1, 1), (1, 3)]
        assert not bench.lost
        log.close()
        assert bench.written() == [(1, 1), (1, 3)]

    bench.run(main)


@pytest.mark.parametrize("name", ["0000000004.0.2.grp", "0000000009.0.1.grp"])
def test_a_file_that_was_listed_empty_and_came_to_nothing_is_no_loss(name) -> None:
    bench = ClusterLog(WEBHDFS)

    def main() -> None:
        log = bench.open()
        for sequence in range(1, 4):
            bench.commit(log, 1, sequence)
        bench.memory.log_kind = WEBHDFS
        listed = list_log(bench.memory, FOLDER)
        being_put = listed._replace(files=tuple(sorted([*listed.files, LogFile(name, 0)])))
        assert [record.sequence for record in read_log(bench.memory, FOLDER, being_put)] == [1, 2, 3]
        complete = listed._replace(files=tuple(sorted([*listed.files, LogFile(name, 200)])))
        with pytest.raises(Corruption, match="it is missing"):
            list(read_log(bench.memory, FOLDER, complete))

    bench.run(main)


def test_nobody_is_told_of_a_refusal_before_a_marker_voids_what_may_yet_appear() -> None:
    bench = ClusterLog(WEBHDFS)

    def main() -> None:
        log = bench.open()
        bench.plan.fail("put_new", NO_ROOM, path="logs/", applied=True)
        with pytest.raises(OutOfSpace):
            bench.commit(log, 1, 1)
        assert any(".1." in name for name in bench.files())
        assert bench.written() == []

    bench.run(main)


@pytest.mark.parametrize("closing", [False, True])
def test_nobody_is_told_of_a_refusal_before_a_marker_voids_it_while_the_log_is_closed(closing) -> None:
    bench = ClusterLog(WEBHDFS)

    def main() -> None:
        log = bench.open()
        bench.plan.fail("put_new", NO_ROOM, path="logs/", applied=True)
        task = bench.begin(log, 1, 1)
        if closing:
            bench.runtime.spawn(log.close)
        found: list[list[tuple[int, int]]] = []
        while not task.join(0):
            bench.runtime.sleep(0)
            if (1, 1) in bench.errors and not found:
                found.append(bench.written())  # what a crash at this moment would leave
        assert isinstance(bench.errors[1, 1], OutOfSpace)
        assert [*found, bench.written()] == [[]] * (len(found) + 1)
        log.close()
        assert bench.written() == []

    bench.run(main)


@both
@pytest.mark.parametrize("refused_first", [False, True])
def test_when_the_log_breaks_nobody_waits_for_ever_not_even_who_closes_it(kind, refused_first) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open(give_up_seconds=2.0, group_bytes=1, groups_under_way=1)
        if refused_first:
            bench.plan.fail(WRITES[kind][-1], NO_ROOM, path="logs/")
            bench.runtime.spawn(bench.begin, log, 9, 1)
            bench.runtime.sleep(0)
        for operation in WRITES[kind]:
            bench.plan.fail(operation, STALLED, path="logs/", nth=2 if refused_first else 1, times=-1)
        tasks = [bench.begin(log, tablet, 1) for tablet in range(5)]
        closing = bench.runtime.spawn(log.close)
        assert closing.join(30)
        assert isinstance(closing.error, StorageFailed)
        for task in tasks:
            assert task.join(1)
        bench.runtime.sleep(1)  # the one of tablet 9, too
        assert bench.applied == []
        assert len(bench.errors) == len(bench.called)

    bench.run(main)


@both
def test_what_nobody_needs_is_deleted_and_recovery_begins_behind_it(kind) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open(segment_bytes=2000)
        for sequence in range(1, 600):
            bench.commit(log, 1, sequence)
        before = bench.files()
        assert log.tablets_of_oldest_segment() == [1]
        size = log.size_bytes
        log.needed(1, 590)
        bench.runtime.sleep(20)
        assert len(bench.files()) < len(before) // 2
        assert log.size_bytes < size
        found = bench.written()
        assert found == bench.applied[-len(found) :]
        assert (1, 590) in found
        log.forget(1)
        bench.commit(log, 2, 1)
        log.close()
        assert bench.written()[-1] == (2, 1)

    bench.run(main)


def test_no_file_is_deleted_before_a_durable_group_says_that_recovery_begins_behind_it() -> None:
    bench = ClusterLog(WEBHDFS)

    def main() -> None:
        log = bench.open(groups_under_way=1)
        for sequence in range(1, 300):
            bench.commit(log, 1, sequence)
        bench.plan.delay("put_new", 0.1, path="logs/", times=1)
        task = bench.begin(log, 1, 300)  # its file says nothing of what nobody needs from here on
        log.needed(1, 299)
        bench.plan.delay("put_new", 5.0, path="logs/", nth=2, times=-1)
        bench.runtime.sleep(4)
        assert task.join(0)
        assert bench.written() == bench.called
        bench.runtime.sleep(30)
        assert len(bench.files()) < 100
        assert bench.written() == bench.called[-len(bench.written()) :]

    bench.run(main)


@pytest.mark.parametrize("seed", quick_first(range(60), 20, 30))
@both
def test_whatever_fails_recovery_shows_what_was_applied_in_that_order(kind, seed) -> None:
    bench = ClusterLog(kind, seed)
    random = bench.runtime.random
    names = [*WRITES[kind], "status"]

    def trouble() -> None:
        for _ in range(25):
            bench.runtime.sleep(random.random() * 0.05)
            operation = random.choice(names)
            where = "fenced/" if operation == "status" else "logs/"
            if random.random() < 0.3:
                bench.plan.delay(operation, random.random() * 3, path=where, times=random.randrange(1, 3))
            elif operation == "status":
                bench.plan.fail(operation, Unavailable("away"), path=where)
            else:
                error = random.choice([STALLED, STALLED, NO_ROOM, StorageFailed("?")])
                bench.plan.fail(operation, error, path=where, applied=random.random() < 0.5)

    def client(log, tablet: int) -> None:
        for sequence in range(1, 25):
            try:
                bench.commit(log, tablet, sequence, bytes(random.randrange(300)))
            except Unavailable:
                bench.runtime.sleep(random.random() * 0.01)
            if random.random() < 0.1:
                bench.runtime.sleep(random.random() * 0.5)

    def main() -> None:
        log = bench.open(segment_bytes=1500, group_bytes=400, hedge_seconds=0.1)
        tasks = [bench.runtime.spawn(trouble)] + [bench.runtime.spawn(client, log, number) for number in range(5)]
        for task in tasks:
            task.join()
            assert task.error is None
        found = bench.written()
        tail = found[len(bench.applied) :]
        assert found[: len(bench.applied)] == bench.applied
        assert set(tail) <= bench.errors.keys()  # a crash right after a refusal may show it
        bench.plan.clear()
        bench.commit(log, 9, 1)  # so that no refused tail is the last thing in the log
        assert bench.applied == bench.written()
        bench.runtime.sleep(10)  # what was late
        assert bench.applied == bench.written()
        bench.commit(log, 9, 2)
        log.close()
        assert bench.applied == bench.written()

    bench.run(main)
