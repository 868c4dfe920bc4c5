"""What a cluster's roles take for default, and which settings they refuse because they contradict each other."""

from pathlib import Path

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.cluster_configuration import (
    CLUSTER_SECTIONS,
    ClusterOptions,
    master_options,
    read_cluster_configuration,
)
from hbtable.launch.config.configuration import Configuration, is_secret, keys_of
from hbtable.launch.config.sections import (
    CLUSTER_ALONE,
    SECTIONS,
    SERVER_ALONE,
    ServerOptions,
    embedded_options,
    read_configuration,
    tabletserver_options,
)
from hbtable.launch.roles.startup_checks import check_granted, check_ports

MIB = 1 << 20
SECRET_WORDS = {"token", "password", "secret", "passphrase"}
"""Of keys that hold a secret itself, and not the name of its file."""


def configured(tmp_path: Path, *overrides: str) -> Configuration:
    path = tmp_path / "cluster.toml"
    path.write_text("")
    return read_cluster_configuration(str(path), {}, overrides)


def test_a_clusters_log_is_cut_so_small_that_several_servers_can_sort_it(tmp_path: Path) -> None:
    assert tabletserver_options(configured(tmp_path)).log.segment_bytes == 16 * MIB
    assert tabletserver_options(configured(tmp_path, "log.segment_bytes=1 MiB")).log.segment_bytes == MIB
    (tmp_path / "hbtable.toml").write_text("")
    alone = embedded_options(read_configuration(str(tmp_path / "hbtable.toml"), {}))
    assert alone.server.log.segment_bytes == LogOptions().segment_bytes == 64 * MIB


def test_other_defaults_are_shown_as_defaults(tmp_path: Path) -> None:
    shown = {(section, key): (value, origin) for section, key, value, origin in configured(tmp_path).effective()}
    assert shown["log", "segment_bytes"] == (16 * MIB, "default")


def test_variables_for_the_other_kind_of_process_are_no_mistake(tmp_path: Path) -> None:
    """Both are started from one shell."""
    assert set(CLUSTER_ALONE) == set(CLUSTER_SECTIONS) - set(SECTIONS)
    assert set(SERVER_ALONE) == set(SECTIONS) - set(CLUSTER_SECTIONS)
    (tmp_path / "empty.toml").write_text("")
    path = str(tmp_path / "empty.toml")
    environment = {"HBTABLE_CLUSTER__FILES": "hdfs://h:1/x", "HBTABLE_SERVER__PORT": "1"}
    assert read_configuration(path, environment).options("server", ServerOptions).port == 1
    cluster = read_cluster_configuration(path, environment).options("cluster", ClusterOptions)
    assert cluster.files == "hdfs://h:1/x"
    with pytest.raises(InvalidConfiguration, match=r"no section \[clutser\]"):
        read_configuration(path, {"HBTABLE_CLUTSER__FILES": "x"})


def test_a_master_gives_up_after_half_the_session_it_was_granted(tmp_path: Path) -> None:
    assert master_options(configured(tmp_path), 3.0).suspended_seconds == 1.5
    assert master_options(configured(tmp_path, "master.suspended_seconds=7s"), 3.0).suspended_seconds == 7.0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["session.session_seconds=0"], r"session.session_seconds = '0': it lies between 0.1 and 3,600"),
        (["session.margin_share=0.9"], "margin_share is 0.9"),
        (["garbage.marker_seconds=10"], "garbage.marker_seconds = 10 is not above session.session_seconds = 10"),
        (["rpc.write_seconds=5"], "rpc.write_seconds = 5 is not above tablet.write_wait_seconds = 10"),
        (["cluster.root=hbtable"], "cluster.root = 'hbtable': "),
        (["cluster.zookeeper=zk:port"], "'zk:port' in 'zk:port' is no ZooKeeper address"),
        (["cluster.zookeeper="], "is no ZooKeeper address"),
        (["cluster.files=ftp://h:1/x"], "'ftp://h:1/x' is no file system"),
        (["cluster.files=hdfs://h:99999/x"], "'h:99999' in 'hdfs://h:99999/x' is no HOST:PORT"),
        (["cluster.files=/some/folder"], "is a folder of this machine, .* run `hbtable start`"),
        (["listen.thrift_port=70000"], "listen.thrift_port = '70000': it lies between 0 and 65,535"),
        (["master.parallel_loads=0"], "master.parallel_loads = '0': it lies between 1"),
        (["hdfs.replication=0"], "hdfs.replication = '0': it lies between 1"),
        (["log.durability=never"], r"section \[log\]: durability is 'never'"),
        (["webhdfs.sign_in=magic"], r"section \[webhdfs\]: sign_in is 'magic'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, settings: list[str], words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words) as refused:
        configured(tmp_path, *settings)
    assert "\n" not in str(refused.value)


def test_a_session_of_another_length_than_was_asked_for_is_refused() -> None:
    check_granted(10.0, 10.0, "z:2181")
    with pytest.raises(InvalidConfiguration, match=r"session_seconds = 1: the ZooKeeper at z:2181 allows only 4; "):
        check_granted(1.0, 4.0, "z:2181")


def test_one_port_for_two_things_is_not_blamed_on_others() -> None:
    check_ports("127.0.0.1", [0, 0])
    with pytest.raises(InvalidConfiguration, match="port 29095 is given to two things"):
        check_ports("127.0.0.1", [29095, 0, 29095])


@pytest.mark.parametrize(
    ("key", "value"),
    [("zookeeper", value) for value in ("", ":2181", "zk:70000", "zk:9090.6", "zk:nan", "zk,,other")]
    + [("root", value) for value in ("a//b", "/a/../b", "\\u0000")]
    + [
        ("files", value)
        for value in ("", "ftp://h:1/x", "hdfs://h/x", "hdfs://h:70000/x", "hdfs://h:9090.6/x", "/folder")
    ],
)
def test_a_refused_address_is_named_by_its_key(tmp_path: Path, key: str, value: str) -> None:
    """The value alone, which may be empty, does not say which line to change."""
    path = tmp_path / "cluster.toml"
    path.write_text(f'[cluster]\n{key} = "{value}"\n')
    with pytest.raises(InvalidConfiguration, match=rf"^cluster\.{key} = "):
        read_cluster_configuration(str(path), {})


def test_no_secret_is_shown(tmp_path: Path) -> None:
    """`hbtable config` shows that there is one, and where it came from."""
    file = tmp_path / "cluster.toml"
    file.write_text('[webhdfs]\nsign_in = "token"\ndelegation_token = "IgAD-known"\n')
    read = read_cluster_configuration(str(file), {})
    shown = {(section, key): (value, origin) for section, key, value, origin in read.effective()}
    assert shown["webhdfs", "delegation_token"] == ("(set, and not shown)", str(file))
    assert "IgAD-known" not in repr([read.options(section, kind) for section, kind in CLUSTER_SECTIONS.items()])
    file.write_text("[webhdfs]\ndelegation_token = 8472019\n")
    with pytest.raises(InvalidConfiguration, match="delegation_token: text in quotes is due") as refused:
        read_cluster_configuration(str(file), {}).check()
    assert "8472019" not in str(refused.value)


def test_every_key_that_is_a_secret_is_known_as_one() -> None:
    for section, kind in {**SECTIONS, **CLUSTER_SECTIONS}.items():
        for field in keys_of(kind):
            if field.type in ("str", str) and SECRET_WORDS & set(field.name.split("_")):
                assert is_secret(field), f"{section}.{field.name}"
                assert not field.repr, f"{section}.{field.name}"
