"""Renames and NameNodes through WebHDFS: answers that are lost or deny what was done, standbys, cut reads."""

import random
from collections.abc import Callable

import pytest

from hbtable.errors import (
    AlreadyExists,
    Corruption,
    FileNotFound,
    HbtableError,
    Stalled,
    StorageFailed,
    Unavailable,
)
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.requests import Http, NotSent, WebHdfsRequest, WebHdfsResponse
from hbtable.testing.fake_hdfs.namespace import FakeNamespace
from hbtable.testing.fake_hdfs.webhdfs_namenode import FakeNameNode
from hbtable.testing.task_calls import TaskCalls
from tests.harness.tiers import quick_first
from tests.unit.fs.webhdfs.rig import ROOT, Rig


def test_a_rename_that_was_done_and_denied_is_done() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.put_new("a", b"1")
        rig.fs.put_new("taken", b"2")
        rig.quirks.doubled = 1.0
        rig.fs.rename("a", "b")
        assert rig.content("b") == b"1"
        with pytest.raises(AlreadyExists):
            rig.fs.rename("b", "taken")
        with pytest.raises(FileNotFound):
            rig.fs.rename("a", "c")
        assert (rig.content("b"), rig.content("taken")) == (b"1", b"2")

    rig.run(body)


def test_a_replacement_that_was_done_and_denied_is_done() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.write_file("a", b"1")
        rig.fs.put_new("unrelated", b"")
        # Only the rename: a doubled CREATE says "exists already", which nobody but its writer can explain.
        rig.fake.between = lambda path: setattr(rig.quirks, "doubled", 1.0)
        rig.fs.write_file("a", b"2")
        assert rig.fs.read_file("a") == b"2"

    rig.run(body)


class Meddling:
    """Between an adapter and the fake: does `meddle` with the requests of one operation."""

    def __init__(self, rig: Rig, operation: str, meddle: Callable[[Http, WebHdfsRequest], WebHdfsResponse]) -> None:
        http = rig.fake.http(rig.runtime)

        def carry(request: WebHdfsRequest) -> WebHdfsResponse:
            return meddle(http, request) if f"op={operation}" in request.target else http(request)

        options = WebHdfsOptions(names_seconds=1.0, failover_seconds=3.0)
        self.fs = WebHdfsFileSystem(rig.runtime, rig.fake.hosts, ROOT, carry, options, TaskCalls(rig.runtime))


def test_a_write_file_that_was_given_up_never_comes_back_over_a_later_one() -> None:
    """The NameNode was frozen, say, and has the rename in its queue."""
    rig = Rig(seed=2)  # with it no try comes so soon that the adapter sees what it did

    def late(http: Http, request: WebHdfsRequest) -> WebHdfsResponse:
        rig.quirks.late = 1.0
        try:
            return http(request)
        finally:
            rig.quirks.late = 0.0

    slow = Meddling(rig, "RENAME", late).fs

    def body() -> None:
        with pytest.raises(Stalled):
            slow.write_file("a", b"old")
        rig.fs.write_file("a", b"new")
        rig.runtime.sleep(130)
        assert rig.content("a") == b"new"
        assert rig.namespace.files().keys() == {f"{ROOT}/a"}

    rig.run(body)


def test_a_write_file_whose_answer_alone_was_lost_is_done() -> None:
    rig = Rig()

    def deaf(http: Http, request: WebHdfsRequest) -> WebHdfsResponse:
        rig.quirks.lost_reply = 1.0
        try:
            return http(request)
        finally:
            rig.quirks.lost_reply = 0.0

    def body() -> None:
        Meddling(rig, "RENAME", deaf).fs.write_file("a", b"new")
        assert rig.content("a") == b"new"

    rig.run(body)


@pytest.mark.parametrize(
    "answer", [WebHdfsResponse(200, "", b"<html>Please sign in"), WebHdfsResponse(307, "http://x/login", b"")]
)
def test_a_page_of_a_proxy_is_not_taken_for_a_change_that_was_made(answer: WebHdfsResponse) -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.put_new("a", b"1")
        fs = Meddling(rig, "RENAME", lambda http, request: answer).fs
        with pytest.raises(StorageFailed):
            fs.rename("a", "b")
        with pytest.raises(StorageFailed):
            fs.write_file("b", b"2")
        with pytest.raises(StorageFailed):
            Meddling(rig, "DELETE", lambda http, request: answer).fs.delete("a")
        assert (rig.content("a"), rig.content("b")) == (b"1", None)

    rig.run(body)


@pytest.mark.parametrize("seed", quick_first(range(40), 15, 20))
def test_an_answer_is_never_wrong_whatever_is_lost(seed: int) -> None:
    """Ten renames and replacements under losses: what returns happened; what says why not did not."""
    rig = Rig(seed, options=WebHdfsOptions(names_seconds=1.0, failover_seconds=4.0, put_seconds=2.0))
    chance = random.Random(seed)

    def body() -> None:
        for number in range(10):
            rig.quirks.lost_request = rig.quirks.lost_reply = rig.quirks.refused = 0.0
            source, target, text = f"s{number}", f"t{number}", str(number).encode()
            rig.fs.put_new(source, text)
            there = chance.random() < 0.3
            if there:
                rig.fs.put_new(target, b"old")
            rig.quirks.lost_request, rig.quirks.lost_reply, rig.quirks.refused = 0.2, 0.2, 0.1
            try:
                rig.fs.rename(source, target)
            except AlreadyExists:
                assert there
            except (Stalled, Unavailable):
                assert rig.content(target) in ((b"old",) if there else (None, text))
            else:
                assert (rig.content(source), rig.content(target)) == (None, text)
                assert not there
            try:
                rig.fs.write_file("same", text)
            except (StorageFailed, Unavailable):
                continue
            assert rig.content("same") == text

    rig.run(body)


def test_a_standby_is_passed_over_and_a_failover_is_followed() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.put_new("a", b"1")
        rig.fake.active = 1
        rig.fs.put_new("b", b"2")
        assert rig.fs.read_file("a") == b"1"
        before = rig.runtime.clock_seconds()
        rig.fs.status("b")
        assert rig.runtime.clock_seconds() - before < 0.05, "the active one is remembered"
        rig.fake.active = 0
        rig.fake.dead.add(rig.fake.hosts[1])
        assert [status.path for status in rig.fs.list_files("")] == ["a", "b"]

    rig.run(body)


def test_without_an_active_namenode_everything_is_unavailable_in_time() -> None:
    rig = Rig(options=WebHdfsOptions(failover_seconds=10.0))

    def body() -> None:
        rig.fs.put_new("a", b"1")
        rig.fake.dead.update(rig.fake.hosts)
        calls = (
            lambda: rig.fs.put_new("b", b""),
            lambda: rig.fs.read_file("a"),
            lambda: rig.fs.exists("a"),
            lambda: rig.fs.list_files(""),
            lambda: rig.fs.delete("a"),
            lambda: rig.fs.write_file("a", b""),
        )
        for call in calls:
            before = rig.runtime.clock_seconds()
            with pytest.raises(Unavailable):
                call()
            assert rig.runtime.clock_seconds() - before < 12

    rig.run(body)


def test_a_namenode_that_never_answers_stalls_changes_and_makes_reads_unavailable() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.put_new("a", b"1")
        rig.fake.frozen.update(rig.fake.hosts)
        before = rig.runtime.clock_seconds()
        with pytest.raises(Stalled):
            rig.fs.delete("a")
        with pytest.raises(Unavailable):
            rig.fs.exists("a")
        with pytest.raises(Unavailable):
            rig.fs.list_files("")
        with pytest.raises(Unavailable):
            rig.fs.read_file("a")
        assert rig.runtime.clock_seconds() - before < 120

    rig.run(body)


def test_absent_is_said_only_by_a_namenode_that_knows() -> None:
    rig = Rig()

    def body() -> None:
        assert not rig.fs.exists("fenced/x")
        rig.quirks.lost_reply = 1.0
        with pytest.raises(HbtableError) as caught:
            rig.fs.exists("fenced/x")
        assert isinstance(caught.value, Unavailable), "an unknown marker is not an absent one"

    rig.run(body)


def test_a_read_that_is_cut_off_is_repeated_elsewhere_and_never_short() -> None:
    rig = Rig()
    content = bytes(range(256))

    def body() -> None:
        rig.fs.put_new("a", content)
        file = rig.fs.open("a")
        rig.quirks.cut_read = 0.3
        for _ in range(50):
            try:
                assert file.read_at(10, 200) == content[10:210]
            except Unavailable:
                pass
        rig.quirks.cut_read = 1.0
        with pytest.raises(Unavailable, match="cut off"):
            file.read_at(10, 200)

    rig.run(body)


def test_a_reader_of_a_replaced_file_gets_nothing_rather_than_the_new_bytes() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.write_file("a", b"first")
        file = rig.fs.open("a")
        rig.fs.rename("a", "b")
        assert file.read_at(0, 5) == b"first", "renames do not disturb it"
        rig.fs.write_file("b", b"other")
        with pytest.raises(FileNotFound):
            file.read_at(0, 5)

    rig.run(body)


def test_a_file_that_became_shorter_is_corrupt_where_inodes_are_unknown() -> None:
    rig = Rig(gateway=True)

    def body() -> None:
        rig.fs.put_new("a", b"0123456789")
        file = rig.fs.open("a")
        rig.namespace.delete(f"{ROOT}/a")
        rig.fs.put_new("a", b"01234")
        for offset in (3, 5, 8):
            with pytest.raises(Corruption):
                file.read_at(offset, 2 if offset == 8 else 4)

    rig.run(body)


def test_a_gateway_says_false_and_the_adapter_looks_why() -> None:
    rig = Rig(gateway=True)

    def body() -> None:
        rig.fs.put_new("a", b"1")
        rig.fs.put_new("b", b"2")
        with pytest.raises(AlreadyExists):
            rig.fs.rename("a", "b")
        rig.fs.rename("a", "deep/down/c")
        assert rig.content("deep/down/c") == b"1"
        with pytest.raises(StorageFailed, match="HttpFS"):
            rig.fs.write_file("b", b"3")

    rig.run(body)


def test_a_file_being_written_cannot_be_sealed_yet() -> None:
    rig = Rig()

    def body() -> None:
        rig.namespace.create(f"{ROOT}/a", "somebody")
        with pytest.raises(Unavailable, match="being written"):
            rig.fs.seal("a")

    rig.run(body)


def test_what_was_cut_off_in_a_write_file_is_listed_by_its_folder_only() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.write_file("a", b"1")
        rig.namespace.create(f"{ROOT}/unfinished/0123", "died")
        assert [status.path for status in rig.fs.list_files("")] == ["a"]
        assert [status.path for status in rig.fs.list_files("unfinished")] == ["unfinished/0123"]

    rig.run(body)


class Deposed:
    """Between an adapter and the fake: the first NameNode was frozen, the second is active, and the first has not
    noticed. It answers with what it knew until it is asked for an edit."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._known: FakeNamespace | None = None
        self.dead = False

    def begin(self) -> None:
        self._known = FakeNamespace(self._rig.runtime.wall_millis)
        for path in self._rig.namespace.files():
            self._known.complete(self._known.create(path, "writer"), "writer")
        self._rig.fake.active = 1

    def carry(self, request: WebHdfsRequest) -> WebHdfsResponse:
        if self._known is None or request.host != self._rig.fake.hosts[0]:
            return self._rig.fake.http(self._rig.runtime)(request)
        self.dead |= request.method != "GET"
        if self.dead:
            raise NotSent(f"{request.host} cannot be reached")
        return FakeNameNode(self._known, lambda without: self._rig.fake.nodes[0]).serve(request)


@pytest.mark.parametrize("question", ["status", "listing", "reading", "deleting"])
def test_a_namenode_that_was_deposed_does_not_say_that_something_is_not_there(question: str) -> None:
    rig = Rig()
    deposed = Deposed(rig)
    fs = WebHdfsFileSystem(rig.runtime, rig.fake.hosts, ROOT, deposed.carry, None, TaskCalls(rig.runtime))

    def body() -> None:
        fs.put_new("before", b"1")
        deposed.begin()
        rig.fs.put_new("fenced/x", b"2")
        if question == "status":
            assert fs.exists("fenced/x")
        elif question == "listing":
            assert [status.path for status in fs.list_files("fenced")] == ["fenced/x"]
        elif question == "reading":
            assert fs.read_file("fenced/x") == b"2"
        else:
            fs.delete("fenced/x")
        assert deposed.dead

    rig.run(body)


def test_who_only_looks_changes_nothing_and_makes_no_folder() -> None:
    rig = Rig()
    fs = _looking(rig, rig.fake.http(rig.runtime))

    def body() -> None:
        assert not fs.exists("a")
        assert fs.list_files("") == []
        rig.fs.put_new("a", b"1")
        rig.fake.log.clear()
        assert fs.read_file("a") == b"1"
        assert not fs.exists("b")
        rig.fake.active = 1
        assert fs.read_file("a") == b"1"
        rig.fake.dead.add(rig.fake.hosts[0])
        assert not fs.exists("b")
        assert {request.method for request in rig.fake.log} == {"GET"}

    rig.run(body)


def test_who_only_looks_believes_neither_of_two_namenodes_that_say_that_they_are_active() -> None:
    rig = Rig()
    deposed = Deposed(rig)
    fs = _looking(rig, deposed.carry)

    def body() -> None:
        rig.fs.put_new("before", b"1")
        assert fs.exists("before")
        deposed.begin()
        rig.fs.put_new("marker", b"2")
        with pytest.raises(Unavailable, match="one of them was deposed and does not know it yet"):
            fs.exists("marker")
        deposed.dead = True
        assert fs.exists("marker")

    rig.run(body)


def _looking(rig: Rig, http: Http) -> WebHdfsFileSystem:
    """One for who only looks."""
    return WebHdfsFileSystem(rig.runtime, rig.fake.hosts, ROOT, http, None, TaskCalls(rig.runtime), looks_only=True)


def test_asking_makes_no_folder() -> None:
    """A mistyped address made an empty one."""
    rig = Rig()

    def body() -> None:
        assert not rig.fs.exists("a")
        assert {request.target.partition("op=")[2].partition("&")[0] for request in rig.fake.log} == {
            "SETTIMES", "GETFILESTATUS",
        }  # fmt: skip

    rig.run(body)


def test_an_edit_whose_answer_is_late_makes_no_namenode_active_again() -> None:
    """The first NameNode made the edit, froze, and was deposed; then its answer comes, and it does not know."""
    rig = Rig()
    first, second = rig.fake.hosts
    runtime, deposed = rig.runtime, Deposed(rig)
    frozen, thawed, answered = (runtime.event() for _ in range(3))
    asked: list[str] = []

    def carry(request: WebHdfsRequest) -> WebHdfsResponse:
        edits = request.method == "PUT"
        if request.host == first and edits and frozen.is_set():
            raise NotSent(f"{first} cannot be reached")
        response = deposed.carry(request)
        asked.append(f"{request.host} {'edits' if edits else request.target}")
        if request.host == first and edits:
            frozen.set()
            thawed.wait()
        if request.host == second and "/a?" in request.target:
            answered.wait()
        return response

    fs = WebHdfsFileSystem(runtime, rig.fake.hosts, ROOT, carry, None, TaskCalls(runtime))
    found: list[bool] = []

    def body() -> None:
        rig.fs.put_new("a", b"1")
        early = runtime.spawn(lambda: fs.exists("a"))
        frozen.wait()
        deposed.begin()
        rig.fs.delete("a")
        assert not fs.exists("b")  # the second is believed
        late = runtime.spawn(lambda: found.append(fs.exists("a")))
        while not any(one.startswith(f"{second} /") and "/a?" in one for one in asked):
            runtime.sleep(0.001)
        thawed.set()
        runtime.sleep(0.01)
        answered.set()
        early.join()
        late.join()
        assert found == [False]

    rig.run(body)
