"""The high-water mark of a cluster's log: an end that went missing before the log was fenced is noticed, at no cost for
commits; and what is left of a log in whole files is served, with the gap described."""

import pytest

from hbtable.commitlog.records import places
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.recovery.manifest import list_log
from hbtable.commitlog.recovery.reading import sound_groups
from hbtable.commitlog.recovery.salvage import salvage
from hbtable.commitlog.segments.high_water import high_water_path, read_high_water
from hbtable.errors import Corruption, OutOfSpace, Stalled
from hbtable.fs.interface import HDFS, WEBHDFS
from hbtable.fs.memory_disk import MemoryContent
from tests.harness.cluster_log import FOLDER, ClusterLog

both = pytest.mark.parametrize("kind", [HDFS, WEBHDFS])


def lived(kind: str, marked: int, behind: int, closed: bool = False) -> ClusterLog:
    """Tablet 1 has `marked` groups, all others up to there are of tablet 2; then the mark is taken; then `behind` more
    of tablet 3."""
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open(cluster_mark_seconds=2.0)
        for sequence in range(1, marked + 1):
            bench.commit(log, 1, sequence)
            bench.commit(log, 2, sequence)
        bench.runtime.sleep(5)
        for sequence in range(1, behind + 1):
            bench.commit(log, 3, sequence)
        if closed:
            log.close()

    bench.run(main)
    return bench


def lose_the_end(bench: ClusterLog, groups: int) -> None:
    """The last groups of a log in whole files."""
    for name in bench.files()[-groups:]:
        del bench.memory.disk.files[f"{FOLDER}/{name}"]


def saved(bench: ClusterLog) -> tuple[list[tuple[int, int]], list[Gap]]:
    """Records and gaps."""

    def main() -> tuple[list[tuple[int, int]], list[Gap]]:
        found = salvage(bench.memory, FOLDER, list_log(bench.memory, FOLDER), lambda: None)
        records = []
        for segment in found.stretches:
            buffer = bench.memory.read_file(segment.path)
            for group in sound_groups(buffer, segment):
                records += [(one.tablet_id, one.sequence) for one in places(buffer, group.payload, group.end, "")]
        return records, found.gaps

    return bench.run(main)


@both
def test_a_sound_log_is_read_whole_and_its_mark_costs_no_commit(kind: str) -> None:
    bench = lived(kind, 5, 3)
    assert bench.run(bench.written) == bench.called
    mark = bench.run(lambda: read_high_water(bench.memory, FOLDER))
    assert mark.tablets == {1: 5, 2: 5}


@both
def test_an_orderly_close_leaves_a_mark_of_everything(kind: str) -> None:
    bench = lived(kind, 5, 3, closed=True)
    mark = bench.run(lambda: read_high_water(bench.memory, FOLDER))
    assert mark.tablets == {1: 5, 2: 5, 3: 3}


@both
def test_while_the_mark_cannot_be_written_commits_go_on_and_one_try_is_under_way(kind: str) -> None:
    bench = ClusterLog(kind)

    def main() -> None:
        log = bench.open(cluster_mark_seconds=1.0)
        bench.plan.fail("write_file", Stalled("no answer"), path=high_water_path(FOLDER), times=2)
        for sequence in range(1, 40):
            bench.commit(log, 1, sequence)
            bench.runtime.sleep(0.2)
        bench.runtime.sleep(3)
        assert bench.applied == bench.called
        mark = read_high_water(bench.memory, FOLDER)
        assert mark is not None
        assert mark.tablets == {1: 39}

    bench.run(main)


@pytest.mark.parametrize("how", ["cut", "zeroed", "empty"])
def test_the_lost_end_of_a_segment_is_said(how: str) -> None:
    bench = lived(HDFS, 5, 0)
    [name] = bench.files()
    content = bench.memory.disk.files[f"{FOLDER}/{name}"].content
    middle = 0 if how == "empty" else len(content) // 2
    if how == "zeroed":
        content[middle:] = bytes(len(content) - middle)
    else:
        del content[middle:]
    with pytest.raises(Corruption, match="of what was acknowledged at least these are lost: tablet 1 sequences"):
        bench.run(bench.written)
    _, gaps = saved(bench)
    assert gaps[-1].may_have_lost(1, 5)
    assert gaps[-1].may_have_lost(2, 5)


def test_groups_that_are_missing_at_the_end_are_said() -> None:
    bench = lived(WEBHDFS, 5, 0)
    lose_the_end(bench, 4)
    with pytest.raises(Corruption, match=r"tablet 1 sequences 4 to 5, tablet 2 sequences 4 to 5"):
        bench.run(bench.written)


def test_groups_that_are_missing_behind_the_mark_are_not() -> None:
    bench = lived(WEBHDFS, 5, 3)
    lose_the_end(bench, 3)
    assert bench.run(bench.written) == bench.called[:-3]


def test_of_a_log_whose_last_groups_are_missing_the_rest_is_saved() -> None:
    bench = lived(WEBHDFS, 5, 0)
    lose_the_end(bench, 3)
    records, [gap] = saved(bench)
    assert records == bench.called[:-3]
    assert gap.first_lsn == gap.last_lsn - 2
    assert gap.may_have_lost(1, 5)
    assert gap.may_have_lost(2, 4)
    assert gap.may_have_lost(7, 1), "the log may have gone on behind its mark, with whose writes ever"
    assert not gap.may_have_lost(7, 1, behind_the_mark=False)
    assert not gap.may_have_lost(2, 6, behind_the_mark=False), "all that the mark knows of is in SSTables"


@pytest.mark.parametrize("how", ["lost", "flipped", "cut"])
def test_a_group_in_the_middle_costs_only_the_tablets_that_had_something_in_it(how: str) -> None:
    bench = lived(WEBHDFS, 5, 6)
    path = f"{FOLDER}/{bench.files()[4]}"  # behind a marker: tablet 2, sequence 2
    content = bench.memory.disk.files[path].content
    if how == "lost":
        del bench.memory.disk.files[path]
    elif how == "flipped":
        content[len(content) // 2] ^= 1
    else:
        del content[-3:]
    with pytest.raises(Corruption):
        bench.run(bench.written)
    records, [gap] = saved(bench)
    assert records == [one for one in bench.called if one != (2, 2)]
    assert gap.path == path
    assert gap.may_have_lost(2, 1)
    assert not gap.may_have_lost(2, 3)
    assert not gap.may_have_lost(1, 1)
    assert not gap.may_have_lost(3, 1)


def test_of_a_log_of_which_nothing_is_left_every_tablet_may_have_lost_something() -> None:
    bench = lived(WEBHDFS, 5, 0)
    bench.memory.disk.files.clear()
    records, [gap] = saved(bench)
    assert not records
    assert gap.may_have_lost(1, 1)
    assert gap.may_have_lost(9, 1)


def test_a_group_that_was_refused_is_not_saved_in_place_of_a_lost_one() -> None:
    """Its file is there, and that of the later round, which voided it, is not."""
    bench = ClusterLog(WEBHDFS)
    kept: dict[str, MemoryContent] = {}

    def main() -> None:
        log = bench.open(groups_under_way=1, cluster_mark_seconds=0)
        bench.commit(log, 1, 1)
        bench.plan.fail("put_new", OutOfSpace("no room"), path=FOLDER, applied=True)
        with pytest.raises(OutOfSpace):
            bench.commit(log, 1, 2, b"refused")
        kept.update(bench.memory.disk.files)
        for sequence in range(2, 8):
            bench.commit(log, 1, sequence)

    bench.run(main)
    refused = [name for name in bench.files() if name.split(".")[1] == "0"][-1]
    lsn = refused.split(".")[0]
    [right] = [name for name in bench.files() if name.startswith(lsn) and name != refused]
    del bench.memory.disk.files[f"{FOLDER}/{right}"]
    _, [gap] = saved(bench)
    assert (gap.first_lsn, gap.last_lsn) == (int(lsn), int(lsn))


def test_a_zombie_says_nothing_that_a_fencer_has_not() -> None:
    """The mark has what was acknowledged, and no more, though later files are there."""
    bench = ClusterLog(WEBHDFS)

    def main() -> None:
        log = bench.open(cluster_mark_seconds=0.5)
        bench.commit(log, 1, 1)
        bench.put_marker()
        task = bench.begin(log, 1, 2)
        bench.runtime.sleep(5)
        assert task.join(30)
        mark = read_high_water(bench.memory, FOLDER)
        assert mark is not None
        assert mark.tablets == {1: 1}
        assert bench.written()[:1] == [(1, 1)]

    bench.run(main)
