"""Contents led past DataNodes that do not answer."""

import pytest

from hbtable.errors import Stalled
from hbtable.fs.interface import PutHints
from hbtable.fs.webhdfs.datanodes import parse_live_nodes
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.watched import WATCHED_BYTES
from tests.unit.fs.webhdfs.rig import Rig

TWO_COPIES = WebHdfsOptions(replication=2)


def padded(least_bytes: int) -> bytes:
    return b"content".ljust(least_bytes, b"\0")


def suspicious(rig: Rig) -> PutHints:
    """As the second try of a group that was kept waiting by the first node."""
    return PutHints(rig.fake.nodes[:1], None, padded)


def unfinished(rig: Rig) -> list[str]:
    return [path for path in rig.namespace.files() if "/unfinished/" in path]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scattered", [False, True])
def test_no_upload_meets_the_frozen_node_and_no_thread_waits_for_it(seed: int, scattered: bool) -> None:
    rig = Rig(seed, options=TWO_COPIES)
    rig.quirks.scattered = scattered

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        before = rig.runtime.clock_seconds()
        for number in range(20):
            rig.fs.put_new(f"logs/{number}", b"content", suspicious(rig))
        # As good as without it: some 20 ms each, three attempts at most on the average.
        assert rig.runtime.clock_seconds() - before < 10
        for number in range(20):
            assert rig.content(f"logs/{number}") == padded(WATCHED_BYTES)
        rig.fake.frozen.clear()
        before = rig.runtime.clock_seconds()
        for number in range(20):
            rig.fs.put_new(f"after/{number}", b"x")
        assert rig.runtime.clock_seconds() - before < 5
        assert not unfinished(rig)

    rig.run(body)


def test_uploads_that_are_not_watched_use_up_the_threads_of_sound_nodes() -> None:
    """What watching is for: a few puts, and a put that meets sound nodes only waits as well."""
    rig = Rig(2, options=WebHdfsOptions(replication=2, put_seconds=3.0))
    rig.quirks.scattered = True

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        tasks = [rig.runtime.spawn(rig.fs.put_new, f"logs/{number}", b"x") for number in range(40)]
        for task in tasks:
            task.join()
        assert sum(task.error is not None for task in tasks) > 20
        rig.fake.frozen.clear()
        with pytest.raises(Stalled):
            rig.fs.put_new("logs/after", b"x")

    rig.run(body)


def test_small_data_are_sent_as_they_are_while_all_nodes_answer() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.put_new("logs/a", b"content", suspicious(rig))
        assert rig.content("logs/a") == b"content"

    rig.run(body)


def test_once_a_node_is_known_to_be_silent_every_upload_is_watched_until_it_answers() -> None:
    rig = Rig(options=TWO_COPIES)
    hints = PutHints(padded=padded)

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[1])
        rig.fs.put_new("logs/a", b"content", suspicious(rig))
        for number in range(10):
            rig.fs.put_new(f"logs/b{number}", b"content", hints)
            assert rig.content(f"logs/b{number}") == padded(WATCHED_BYTES)
        rig.fake.frozen.clear()
        rig.runtime.sleep(2)
        rig.fs.put_new("logs/c", b"content", hints)  # asks again beside it
        rig.runtime.sleep(2)
        rig.fs.put_new("logs/d", b"content", hints)
        assert rig.content("logs/d") == b"content"

    rig.run(body)


def test_nobody_goes_on_with_an_upload_that_nobody_wants() -> None:
    rig = Rig(options=TWO_COPIES)

    def unwanted(least_bytes: int) -> bytes:
        raise Stalled("unwanted")

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[1])
        with pytest.raises(Stalled, match="unwanted"):
            rig.fs.put_new("logs/a", b"content", PutHints(rig.fake.nodes[:1], None, unwanted))
        assert not rig.namespace.files()

    rig.run(body)


def test_an_answer_that_is_lost_leaves_nothing_under_the_name() -> None:
    rig = Rig(options=WebHdfsOptions(replication=2, put_seconds=2.0))

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[1])
        rig.fs.put_new("logs/a", b"content", suspicious(rig))
        rig.quirks.lost_reply = 1.0
        with pytest.raises(Stalled):
            rig.fs.put_new("logs/b", b"content", PutHints(padded=padded))
        rig.quirks.lost_reply = 0.0
        assert rig.content("logs/b") is None

    rig.run(body)


def test_without_a_way_past_a_put_stalls_in_its_time() -> None:
    rig = Rig(nodes=3, options=WebHdfsOptions(replication=3, log_replication=3, put_seconds=3.0))

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[1])  # three copies on three nodes
        before = rig.runtime.clock_seconds()
        with pytest.raises(Stalled, match=rig.fake.nodes[1]):
            rig.fs.put_new("logs/a", b"content", suspicious(rig))
        assert rig.runtime.clock_seconds() - before < 5
        assert rig.content("logs/a") is None

    rig.run(body)


def test_heartbeats_tell_the_frozen_node_from_sound_ones_whose_threads_all_wait() -> None:
    rig = Rig(3, options=WebHdfsOptions(replication=2, put_seconds=1.0))

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        tasks = [rig.runtime.spawn(rig.fs.put_new, f"logs/{number}", b"x") for number in range(60)]
        for task in tasks:
            task.join()
        with pytest.raises(Stalled, match=f"past {rig.fake.nodes[2]}:"):  # and that one only
            rig.fs.put_new("logs/a", b"content", suspicious(rig))
        rig.runtime.sleep(80)
        rig.fs.put_new("logs/b", b"content", suspicious(rig))
        assert rig.content("logs/b") == padded(WATCHED_BYTES)

    rig.run(body)


def test_what_was_left_open_is_closed_when_its_pipeline_has_failed() -> None:
    rig = Rig(1, options=TWO_COPIES)
    rig.quirks.scattered = True

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        for number in range(10):
            rig.fs.put_new(f"logs/{number}", b"content", suspicious(rig))
        left = rig.fake.datanodes.held_uploads
        assert left > 5
        rig.runtime.sleep(90)
        rig.fs.put_new("logs/last", b"content", suspicious(rig))
        assert rig.fake.datanodes.held_uploads < left
        before = rig.runtime.clock_seconds()
        for number in range(10):  # no thread was lost to the ends of these
            rig.fs.put_new(f"logs/again{number}", b"content", suspicious(rig))
        assert rig.runtime.clock_seconds() - before < 5
        rig.fs.close()
        rig.runtime.sleep(0.1)
        assert rig.fake.datanodes.held_uploads == 0

    rig.run(body)


def test_uploads_that_were_left_do_not_fill_the_disks_as_the_namenode_counts() -> None:
    rig = Rig(4, options=TWO_COPIES)
    rig.quirks.scattered = True
    rig.quirks.room_bytes = 3 << 30  # 24 blocks of 128 MiB

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        for number in range(60):
            rig.fs.put_new(f"logs/{number}", b"content", suspicious(rig))
        assert rig.fake.datanodes.held_uploads > 60, "this many were left"

    rig.run(body)


def test_uploads_that_were_never_begun_do_not_use_up_the_threads_later() -> None:
    rig = Rig(3, options=WebHdfsOptions(replication=2, put_seconds=5.0))
    rig.quirks.scattered = True

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        rig.fs.put_new("logs/a", b"content", suspicious(rig))
        for node in 4 * rig.fake.nodes[:2]:  # each of their threads waits for a pipeline
            rig.fake.datanodes.thread(node).occupy(rig.runtime.clock_seconds() + 75)
        attempts = [rig.runtime.spawn(rig.fs.put_new, f"try/{n}", b"x", suspicious(rig)) for n in range(4)]
        for task in attempts:
            task.join()
            assert isinstance(task.error, Stalled), "every thread waits"
        rig.runtime.sleep(80)  # what they waited for has failed; what waited for them begins
        before = rig.runtime.clock_seconds()
        for number in range(20):
            rig.fs.put_new(f"after/{number}", b"content", suspicious(rig))
        assert rig.runtime.clock_seconds() - before < 10

    rig.run(body)


def test_what_was_left_open_ends_as_soon_as_the_node_answers() -> None:
    """Or the threads would wait for the next node that freezes."""
    rig = Rig(1, options=TWO_COPIES)
    rig.quirks.scattered = True

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        for number in range(10):
            rig.fs.put_new(f"logs/{number}", b"content", suspicious(rig))
        assert rig.fake.datanodes.held_uploads > 5
        rig.fake.frozen.clear()
        rig.runtime.sleep(5)  # nobody puts anything
        assert rig.fake.datanodes.held_uploads == 0

    rig.run(body)


def test_what_was_left_open_stays_so_when_the_namenode_counts_the_node_as_dead() -> None:
    rig = Rig(1, options=TWO_COPIES)
    rig.quirks.scattered = True

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        for number in range(10):
            rig.fs.put_new(f"logs/{number}", b"content", suspicious(rig))
        left = rig.fake.datanodes.held_uploads
        assert left > 5
        rig.fake.gone.add(rig.fake.nodes[2])
        before = rig.runtime.clock_seconds()
        for number in range(10):
            rig.fs.put_new(f"logs/without{number}", b"content", suspicious(rig))
        assert rig.runtime.clock_seconds() - before < 5, "no thread waits for the ends of the others"
        rig.runtime.sleep(20)
        assert rig.fake.datanodes.held_uploads == left
        rig.runtime.sleep(80)
        assert rig.fake.datanodes.held_uploads == 0

    rig.run(body)


def test_a_killed_task_that_waits_for_its_turn_takes_no_place() -> None:
    rig = Rig(1, options=WebHdfsOptions(replication=3, log_replication=3, put_seconds=3.0))

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])  # three copies on three nodes
        tasks = [rig.runtime.spawn(rig.fs.put_new, f"logs/{n}", b"x", suspicious(rig)) for n in range(12)]
        rig.runtime.sleep(2)
        for task in tasks[4:]:
            task.kill()
        for task in tasks:
            task.join()
        rig.fake.frozen.clear()
        rig.runtime.sleep(3)
        rig.fake.frozen.add(rig.fake.nodes[2])
        rig.fs.options = TWO_COPIES
        last = rig.runtime.spawn(rig.fs.put_new, "logs/last", b"x", suspicious(rig))
        assert last.join(5)
        assert rig.content("logs/last") == padded(WATCHED_BYTES)

    rig.run(body)


@pytest.mark.parametrize("closed_before", [False, True])
def test_a_killed_task_leaves_no_connection_to_nobody(closed_before: bool) -> None:
    """It asks where the copies go at that moment."""
    rig = Rig(1, options=TWO_COPIES)
    rig.quirks.namenode_seconds = 0.05

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        task = rig.runtime.spawn(rig.fs.put_new, "logs/a", b"x", suspicious(rig))
        while not rig.fake.datanodes.held_uploads:
            assert rig.runtime.clock_seconds() < 60
            rig.runtime.sleep(0.001)
        if closed_before:
            rig.fs.close()
        task.kill()
        task.join()
        if not closed_before:
            rig.fs.close()
        rig.runtime.sleep(1)
        assert rig.fake.datanodes.held_uploads == 0

    rig.run(body)


def test_an_upload_that_is_begun_after_its_caller_is_gone_is_ended() -> None:
    rig = Rig(1, options=TWO_COPIES, seconds_to_begin=2.0)

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[2])
        task = rig.runtime.spawn(rig.fs.put_new, "logs/a", b"x", suspicious(rig))
        rig.runtime.sleep(2)
        assert not rig.fake.log[-1].body
        task.kill()
        rig.runtime.sleep(3)
        assert rig.fake.log[-1].body, "it was begun all the same"
        assert rig.fake.datanodes.held_uploads == 0

    rig.run(body)


def test_the_list_of_living_nodes_tells_when_each_was_heard_of() -> None:
    page = (
        b'{"beans": [{"LiveNodes": "{\\"one:9866\\": {\\"infoAddr\\": \\"10.0.0.1:9864\\", '
        b'\\"xferaddr\\": \\"10.0.0.1:9866\\", \\"lastContact\\": 7}}"}]}'
    )
    assert parse_live_nodes(page) == {"one:9864": ("10.0.0.1:9866", 7.0)}
