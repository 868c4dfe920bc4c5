"""A role whose key is not the master's does not start."""

import logging
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from hbtable.access.cluster_key_file import make_cluster_key
from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration, Unavailable
from hbtable.launch.config.cluster_configuration import ClusterOptions
from hbtable.launch.roles.addresses import KnownRole
from hbtable.launch.roles.cluster_key import check_key, cluster_key, warn_of_key
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.proof import ClusterKey
from hbtable.rpc.thrift_server import RpcServer
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve

HOST = "127.0.0.1"
OPTIONS = RpcOptions(connect_seconds=60, census_seconds=60)
OURS, OTHER = ClusterKey([b"k" * 32], "c"), ClusterKey([b"o" * 32], "c")
SAID = "cluster.key = 'a.key' .cluster.toml."
LENIENT = ClusterKey([b"k" * 32], "c", required=False)


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    made = GeventRuntime()
    yield made
    made.close()


def tried(runtime: GeventRuntime, master: ClusterKey | None, role: ClusterKey | None) -> None:
    server = RpcServer(runtime, LocalTransport(), lambda handle: serve(HOST, 0, handle), key=master)
    try:
        check_key(runtime, [KnownRole("master", f"{HOST}:{server.start()}")], OPTIONS, role, SAID)
    finally:
        server.close()


@pytest.mark.parametrize(
    ("master", "role"),
    [(None, None), (OURS, OURS), (LENIENT, None), (None, LENIENT), (LENIENT, OURS), (OURS, LENIENT)],
)
def test_roles_that_believe_each_other_start(
    runtime: GeventRuntime, master: ClusterKey | None, role: ClusterKey | None
) -> None:
    tried(runtime, master, role)


@pytest.mark.parametrize(
    ("master", "role", "words"),
    [
        (OURS, None, "set cluster.key to the file"),
        (OURS, OTHER, "not this cluster's"),
        (LENIENT, OTHER, "not this cluster's"),
        (None, OURS, "does not prove that it has the cluster's key"),
    ],
)
def test_one_that_the_master_would_not_believe_is_refused(
    runtime: GeventRuntime, master: ClusterKey | None, role: ClusterKey | None, words: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=f"do not come together.*{words}.*; {SAID}"):
        tried(runtime, master, role)


def test_without_anybody_who_answers_nothing_is_said(runtime: GeventRuntime) -> None:
    check_key(runtime, [], OPTIONS, OURS, SAID)
    listener = serve(HOST, 0, lambda socket, address: None)
    listener.close()
    check_key(runtime, [KnownRole("master", f"{HOST}:{listener.port}")], OPTIONS, OURS, SAID)


def test_one_server_that_believes_this_process_is_enough(
    runtime: GeventRuntime, caplog: pytest.LogCaptureFixture
) -> None:
    servers = [
        RpcServer(runtime, LocalTransport(), lambda handle: serve(HOST, 0, handle), key=key) for key in (OTHER, OURS)
    ]
    try:
        there = [KnownRole("tablet server", f"{HOST}:{server.start()}") for server in servers]
        check_key(runtime, there, OPTIONS, OURS, SAID)
        refused = f"the tablet server at {there[0].address} and this process do not come together"
        with pytest.raises(InvalidConfiguration, match=refused):
            check_key(runtime, there[:1], OPTIONS, OURS, SAID)
        with pytest.raises(InvalidConfiguration, match=refused):
            check_key(runtime, [there[0], there[0]], OPTIONS, OURS, SAID, 2)
        with caplog.at_level(logging.WARNING):
            check_key(runtime, there[:1], OPTIONS, OURS, SAID, 2)  # it may be the one that is wrong
        assert refused in caplog.text
    finally:
        for server in servers:
            server.close()


@pytest.mark.parametrize(
    ("servers", "ends_as", "warnings"),
    [
        ((), Unavailable, 0),
        ((OTHER,), Unavailable, 0),
        ((OTHER, OTHER), InvalidConfiguration, 0),
        ((OTHER, OURS), None, 2),
        ((OURS, OURS), None, 1),
    ],
)
def test_a_role_beside_a_master_with_another_key_ends_for_good_only_where_servers_refuse_it_too(
    runtime: GeventRuntime,
    caplog: pytest.LogCaptureFixture,
    servers: tuple[ClusterKey, ...],
    ends_as: type[Exception] | None,
    warnings: int,
) -> None:
    """Else it may be the master that has the wrong one: a supervisor tries again, and a master stands by."""
    made = [
        RpcServer(runtime, LocalTransport(), lambda handle: serve(HOST, 0, handle), key=k) for k in (OTHER, *servers)
    ]
    try:
        there = [KnownRole("tablet server", f"{HOST}:{server.start()}") for server in made]
        there[0] = there[0]._replace(who="master")
        refused = f"the master at {there[0].address} and this process do not come together"
        ends = pytest.raises(ends_as, match=refused) if ends_as else nullcontext()
        with caplog.at_level(logging.WARNING), ends:
            check_key(runtime, there, OPTIONS, OURS, SAID, 2)
        assert caplog.text.count("and this process do not come together") == warnings
        assert refused in caplog.text or not warnings
    finally:
        for server in made:
            server.close()


@pytest.mark.parametrize(
    ("options", "enabled", "said"),
    [
        (ClusterOptions(), True, "cluster.key is not set: whoever reaches"),
        (ClusterOptions(key="k", key_required=False), True, "cluster.key_required is false: whoever reaches"),
        (ClusterOptions(key="k"), True, ""),
        (ClusterOptions(), False, ""),
    ],
)
def test_users_who_are_asked_only_at_the_front_are_a_warning(
    caplog: pytest.LogCaptureFixture, options: ClusterOptions, enabled: bool, said: str
) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_key(options, AuthOptions(enabled=enabled))
    assert said in caplog.text
    assert bool(said) == bool(caplog.text)


def test_the_configuration_gives_the_key(tmp_path: Path) -> None:
    path = str(tmp_path / "key")
    assert cluster_key(ClusterOptions(), "c") is None
    with pytest.raises(InvalidConfiguration, match=r"cluster\.key = .* cannot be read"):
        cluster_key(ClusterOptions(key=path), "c")
    make_cluster_key(path)
    made = cluster_key(ClusterOptions(key=path, key_required=False), "c")
    assert made is not None
    assert (made.required, made.cluster_id) == (False, "c")
