"""The list of features in /cluster: raised by what is used only, refused by name."""

import json

import pytest

from hbtable.errors import Corruption, Unavailable, UnsupportedFormat
from hbtable.fs.interface import LOCAL
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice import features
from hbtable.lockservice.paths import CLUSTER
from hbtable.master.bootstrap import check_log_kind, cluster_id
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


@pytest.fixture
def runtime():
    return SimulatedRuntime(1)


@pytest.fixture
def service(runtime):
    return MemoryLockService(runtime)


@pytest.fixture
def two_features(monkeypatch):
    monkeypatch.setitem(features.FEATURES, "winged-cells", "cells with wings")
    monkeypatch.setitem(features.FEATURES, "amber", "rows in amber")


def made(runtime, service):
    session = service.open_session("test")
    cluster_id(runtime, session, LOCAL)
    return session


def said(session):
    return json.loads(session.read(CLUSTER).data)


def test_a_cluster_begins_as_it_always_did(runtime, service):
    def body():
        session = made(runtime, service)
        assert said(session).keys() == {"id", "format", "log_kind"}
        assert said(session)["format"] == 1

    runtime.run(body)


def test_a_feature_is_listed_once_and_all_else_stays(runtime, service, two_features):
    def body():
        session = made(runtime, service)
        before = said(session)
        for name in ("winged-cells", "amber", "winged-cells"):
            features.require(session, name)
        assert said(session) == {**before, "format": 2, "features": ["amber", "winged-cells"]}
        version = session.read(CLUSTER).version
        features.require(session, "amber")
        assert session.read(CLUSTER).version == version
        assert cluster_id(runtime, session, LOCAL) == before["id"]
        check_log_kind(session, LOCAL)
        features.check(session)

    runtime.run(body)


def test_two_at_the_same_moment_are_both_listed(runtime, service, two_features):
    def body():
        session = made(runtime, service)
        tasks = [runtime.spawn(features.require, session, name, name=name) for name in ("winged-cells", "amber")]
        for task in tasks:
            task.join()
            assert task.error is None
        assert said(session)["features"] == ["amber", "winged-cells"]

    runtime.run(body)


def test_an_older_program_refuses_by_name(runtime, service, two_features, monkeypatch):
    def body():
        session = made(runtime, service)
        features.require(session, "winged-cells")
        monkeypatch.delitem(features.FEATURES, "winged-cells")
        for refused in (
            lambda: features.check(session),
            lambda: cluster_id(runtime, session, LOCAL),
            lambda: check_log_kind(session, LOCAL),
            lambda: features.require(session, "amber"),
        ):
            with pytest.raises(UnsupportedFormat, match=r"newer hbtable, with winged-cells; this one knows .*amber"):
                refused()

    runtime.run(body)


def test_nothing_is_begun_in_a_cluster_of_a_newer_one(runtime, service, two_features, monkeypatch):
    fs = MemoryFileSystem(runtime)

    def make():
        cluster = EmbeddedCluster(runtime, fs, service)
        cluster.start()
        features.require(cluster.session, "winged-cells")
        cluster.stop()

    def refuse():
        monkeypatch.delitem(features.FEATURES, "winged-cells")
        before = {status.path: fs.read_file(status.path) for status in fs.list_files("")}
        with pytest.raises(UnsupportedFormat, match="winged-cells"):
            EmbeddedCluster(runtime, fs, service).start()
        assert {status.path: fs.read_file(status.path) for status in fs.list_files("")} == before

    runtime.run(make)
    runtime.run(refuse)


def test_what_is_no_cluster_is_damage_and_a_later_format_is_not(runtime):
    for data in (b"", b"{", b"[]", b'{"format": 1}', b'{"id": "a"}', b'{"id": "a", "format": "x"}', b"7"):
        with pytest.raises(Corruption):
            features.read_cluster(data)
    with pytest.raises(UnsupportedFormat, match="format 3 and was written by a newer"):
        features.read_cluster(b'{"id": "a", "format": 3}')


def test_a_kind_of_log_of_a_later_version_is_refused():
    for kind in ("hdfs", "webhdfs", "local"):
        features.read_cluster(json.dumps({"id": "a", "format": 1, "log_kind": kind}).encode())
    with pytest.raises(UnsupportedFormat, match="kind of log 'tape'"):
        features.read_cluster(b'{"id": "a", "format": 1, "log_kind": "tape"}')


def test_without_a_cluster_nothing_can_be_required(runtime, service, two_features):
    def body():
        with pytest.raises(Unavailable):
            features.require(service.open_session("test"), "amber")

    runtime.run(body)


def test_a_name_that_is_not_in_the_table_cannot_be_required(runtime, service):
    def body():
        with pytest.raises(UnsupportedFormat):
            features.require(made(runtime, service), "misspelt")

    runtime.run(body)
