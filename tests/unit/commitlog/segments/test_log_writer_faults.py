"""No room, failing files, failing syncs: what was refused never comes back, what was acknowledged always does."""

import pytest

from hbtable.errors import AlreadyExists, OutcomeUnknown, OutOfSpace, StorageFailed, Unavailable
from tests.harness.tiers import quick_first

NO_ROOM = OutOfSpace("no room left")
BOTH = pytest.mark.parametrize("durability", ["sync", "os"])


@BOTH
@pytest.mark.parametrize("kept_bytes", [0, 1, 39, 40, 60, 10_000])
def test_a_refused_commit_is_cut_off_however_much_of_it_reached_the_file(bench, durability, kept_bytes: int) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        bench.fs.append_errors.append((NO_ROOM, kept_bytes))
        with pytest.raises(OutOfSpace):
            bench.commit(log, 1, 2, b"refused")
        assert bench.written() == [(1, 1)]
        bench.commit(log, 1, 3)
        assert bench.applied == bench.written() == [(1, 1), (1, 3)]
        log.close()
        assert bench.written() == [(1, 1), (1, 3)]

    bench.run(main)


@BOTH
@pytest.mark.parametrize("kept_bytes", [0, 1, 60_000, 1 << 20])
@pytest.mark.parametrize("place", [1, 2])
def test_a_large_group_goes_in_two_appends_and_is_cut_off_when_either_is_refused(
    bench, durability, kept_bytes: int, place: int
) -> None:
    appends: list[int] = []

    def refuse() -> None:
        appends.append(1)
        if len(appends) == place:
            bench.fs.append_errors.append((NO_ROOM, kept_bytes))

    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1, bytes(100_000))
        bench.fs.before_append = refuse
        with pytest.raises(OutOfSpace):
            bench.commit(log, 1, 2, b"refused" * 20_000)
        bench.fs.before_append = lambda: None
        assert bench.written() == [(1, 1)]
        bench.commit(log, 1, 3, bytes(100_000))
        assert bench.applied == bench.written() == [(1, 1), (1, 3)]
        log.close()

    bench.run(main)


@BOTH
def test_a_full_disk_refuses_commits_until_there_is_room_and_collects_no_files(bench, durability) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        disk = bench.memory.disk
        disk.capacity_bytes = disk.used_bytes + 20
        for n in range(2, 12):
            with pytest.raises(OutOfSpace):
                bench.commit(log, 1, n)
        assert len(bench.segments()) <= 2
        assert bench.written() == [(1, 1)]
        disk.capacity_bytes = None
        bench.commit(log, 1, 12)
        assert bench.applied == bench.written() == [(1, 1), (1, 12)]

    bench.run(main)


def test_commits_behind_a_refused_one_go_on_in_the_next_segment_in_order(bench) -> None:
    def main() -> None:
        log = bench.writer(group_bytes=1)
        refused = []

        def client(n: int) -> None:
            try:
                bench.commit(log, 1, n)
            except OutOfSpace:
                refused.append((1, n))

        bench.fs.append_errors.append((NO_ROOM, 10_000))
        tasks = [bench.runtime.spawn(client, n) for n in range(6)]
        for task in tasks:
            task.join()
        assert len(refused) == 1
        assert len(bench.applied) == 5
        assert bench.applied == bench.written()
        assert refused[0] not in bench.written()

    bench.run(main)


@BOTH
def test_commits_that_follow_a_refused_one_are_refused_with_it_in_one_stretch_and_others_are_not(
    bench, durability
) -> None:
    def main() -> None:
        log = bench.writer(group_bytes=1, durability=durability)
        bench.commit(log, 1, 1)
        bench.fs.before_append = lambda: bench.runtime.sleep(0.001)
        bench.fs.append_errors.append((NO_ROOM, 10_000))
        first = bench.begin(log, 1, 2)
        others = [bench.begin(log, 1, 3), bench.begin(log, 1, 4, follows=True), bench.begin(log, 1, 5)]
        seen = []
        while not bench.refused:
            bench.runtime.sleep(0)
            seen.append(list(bench.refused))
        assert seen[-1] == [(1, 2), (1, 4)]
        for task in (first, *others):
            task.join()
        assert isinstance(first.error, OutOfSpace)
        assert isinstance(others[1].error, Unavailable)
        assert others[0].error is others[2].error is None
        assert bench.applied == bench.written() == [(1, 1), (1, 3), (1, 5)]
        assert bench.refused == [(1, 2), (1, 4)]
        bench.commit(log, 1, 6)
        log.close()

    bench.run(main)


@pytest.mark.parametrize("error", [NO_ROOM, Unavailable("not now"), StorageFailed("no inode")])
def test_a_segment_that_cannot_be_created_refuses_commits_and_is_tried_again(bench, error) -> None:
    def main() -> None:
        log = bench.writer(segment_bytes=100)
        bench.commit(log, 1, 1)
        bench.fs.create_errors += [error, error]
        for n in (2, 3):
            with pytest.raises(Unavailable):
                bench.commit(log, 1, n)
        bench.commit(log, 1, 4)
        assert bench.applied == bench.written() == [(1, 1), (1, 4)]
        assert bench.segments() == ["0000000001.log", "0000000004.log"]

    bench.run(main)


@pytest.mark.parametrize("kept_bytes", [0, 5, 10_000])
def test_stumps_of_segments_that_cannot_even_be_removed_are_skipped_by_recovery(bench, kept_bytes: int) -> None:
    def main() -> None:
        log = bench.writer(segment_bytes=100)
        bench.commit(log, 1, 1)
        bench.fs.append_errors.append((NO_ROOM, kept_bytes))
        bench.fs.delete_errors.append(StorageFailed("stuck"))
        with pytest.raises(OutOfSpace):
            bench.commit(log, 1, 2)
        assert bench.written() == [(1, 1)]  # the stump is the last file now
        bench.commit(log, 1, 3)
        assert bench.written() == [(1, 1), (1, 3)]  # and now in the middle
        assert len(bench.segments()) == 3

    bench.run(main)


def test_another_writer_in_the_folder_stops_this_one_and_keeps_its_file(bench) -> None:
    def main() -> None:
        log = bench.writer(segment_bytes=100)
        bench.commit(log, 1, 1)
        bench.fs.create_errors.append(AlreadyExists("there"))
        with pytest.raises(OutcomeUnknown, match="another process"):
            bench.commit(log, 1, 2)

    bench.run(main)


def test_a_failed_sync_is_the_end_of_the_log_but_not_of_what_it_holds(bench) -> None:
    def main() -> None:
        log = bench.writer(group_bytes=1)
        bench.commit(log, 1, 1)
        bench.fs.sync_errors.append(StorageFailed("EIO"))
        errors = []

        def client(n: int) -> None:
            try:
                bench.commit(log, 1, n)
            except (OutcomeUnknown, StorageFailed) as error:
                errors.append(type(error))

        tasks = [bench.runtime.spawn(client, n) for n in (2, 3, 4)]
        for task in tasks:
            task.join()
        with pytest.raises(StorageFailed, match="restart this tablet server"):
            bench.commit(log, 1, 5)
        # Only of the one that was being written nobody knows; the others were never begun.
        assert sorted(errors, key=str) == [OutcomeUnknown, StorageFailed, StorageFailed]
        assert bench.applied == [(1, 1)]
        assert bench.written()[:1] == [(1, 1)]
        with pytest.raises(StorageFailed):
            log.close()

    bench.run(main)


@pytest.mark.parametrize("error", [StorageFailed("EIO"), OutOfSpace("ENOSPC at fsync")])
def test_a_failed_sync_of_a_new_header_is_the_end_too(bench, error) -> None:
    def main() -> None:
        log = bench.writer(segment_bytes=100)
        bench.commit(log, 1, 1)
        bench.fs.sync_errors.append(error)
        with pytest.raises(OutcomeUnknown):
            bench.commit(log, 1, 2)
        with pytest.raises(StorageFailed):
            bench.commit(log, 1, 3)
        assert bench.written() == [(1, 1)]

    bench.run(main)


def test_os_a_failed_sync_beside_the_commits_stops_them(bench) -> None:
    def main() -> None:
        log = bench.writer(durability="os", sync_every_bytes=100)
        bench.fs.sync_errors.append(StorageFailed("EIO"))
        bench.commit(log, 1, 1, bytes(200))
        bench.commit(log, 1, 2)  # goes through the queue, and starts the sync
        bench.runtime.sleep(1)
        with pytest.raises(StorageFailed, match="EIO"):
            bench.commit(log, 1, 3)

    bench.run(main)


@pytest.mark.parametrize("seed", range(5))
def test_os_a_segment_is_not_closed_under_the_sync_beside_the_commits(bench_of, seed: int) -> None:
    bench = bench_of(seed)

    def main() -> None:
        log = bench.writer(durability="os", sync_every_bytes=100)
        bench.commit(log, 1, 1, bytes(200))
        bench.commit(log, 1, 2)  # goes through the queue, and starts the sync
        bench.fs.append_errors.append((NO_ROOM, 5))
        with pytest.raises(OutOfSpace):
            bench.commit(log, 1, 3)
        bench.commit(log, 1, 4)
        assert bench.fs.closed_while_syncing == 0
        assert bench.applied == bench.written() == [(1, 1), (1, 2), (1, 4)]

    bench.run(main)


@BOTH
def test_an_append_with_an_unknown_end_stops_the_log(bench, durability) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.fs.append_errors.append((StorageFailed("EIO"), 7))
        with pytest.raises(OutcomeUnknown, match="restart this tablet server"):
            bench.commit(log, 1, 1)
        with pytest.raises(StorageFailed, match="restart this tablet server"):
            bench.commit(log, 1, 1)
        assert bench.applied == []

    bench.run(main)


@BOTH
def test_a_kill_inside_an_append_stops_the_log(bench, durability) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        bench.fs.before_append = lambda: bench.runtime.sleep(1)
        task = bench.begin(log, 1, 2)
        task.kill()
        with pytest.raises(StorageFailed, match="restart this tablet server"):
            bench.commit(log, 1, 3)
        bench.runtime.sleep(10)
        assert bench.applied == [(1, 1)]
        with pytest.raises(StorageFailed):
            log.close()

    bench.run(main)


@BOTH
def test_an_error_nobody_foresaw_stops_the_log_and_leaves_no_waiter_behind(bench, durability) -> None:
    def main() -> None:
        log = bench.writer(durability=durability, group_bytes=1, segment_bytes=100)
        bench.commit(log, 1, 1)
        tasks = [bench.begin(log, 1, n, bytes(50)) for n in range(2, 6)]
        bench.fs.bugs.append(ValueError("a bug"))
        for task in tasks:
            task.join()
        errors = [task.error for task in tasks if task.error is not None]
        assert errors
        assert all(isinstance(error, OutcomeUnknown | StorageFailed) for error in errors)
        assert len(bench.applied) == 5 - len(errors)
        with pytest.raises(StorageFailed):
            log.close()

    bench.run(main)


@BOTH
def test_a_close_without_room_for_the_last_watermark_still_succeeds(bench, durability) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        disk = bench.memory.disk
        disk.capacity_bytes = disk.used_bytes + 3
        log.close()
        assert bench.written() == [(1, 1)]
        assert disk.files[f"{bench.folder}/0000000001.log"].synced_bytes >= 100

    bench.run(main)


@pytest.mark.parametrize("seed", quick_first(range(40), 10, 10))
@BOTH
def test_whatever_fails_recovery_shows_what_was_applied_in_that_order(bench_of, seed: int, durability) -> None:
    """Random refusals and stumps, concurrent clients, tiny segments; then a crash of the process."""
    bench = bench_of(seed)
    random = bench.runtime.random

    def client(log, number: int) -> None:
        for n in range(15):
            if random.random() < 0.15:
                bench.fs.append_errors.append((NO_ROOM, random.choice([0, 3, 50, 10_000])))
            if random.random() < 0.05:
                bench.fs.create_errors.append(Unavailable("not now"))
            if random.random() < 0.05:
                bench.fs.delete_errors.append(Unavailable("not now"))
            try:
                bench.commit(log, number, n, bytes(random.randrange(150)))
            except Unavailable:
                bench.runtime.sleep(random.random() * 0.01)

    def main() -> None:
        log = bench.writer(durability=durability, segment_bytes=900, group_bytes=250, sync_every_bytes=400)
        tasks = [bench.runtime.spawn(client, log, number) for number in range(4)]
        for task in tasks:
            task.join()
            assert task.error is None
        bench.fs.append_errors.clear()
        bench.fs.create_errors.clear()
        bench.commit(log, 9, 1)  # so that no refused tail is the last thing in the log
        assert bench.applied == bench.written()

    bench.run(main)
