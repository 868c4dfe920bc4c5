"""The memory limit of a process: what becomes of the defaults under a small one, and what does not fit."""

from pathlib import Path

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.cluster_configuration import read_cluster_configuration
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.memory import SHARES, MemoryOptions, of_machine
from hbtable.launch.config.sections import SECTIONS, read_configuration

MIB = 1 << 20


def configured(folder: Path, *settings: str, cluster: bool = False) -> Configuration:
    path = folder / "empty.toml"
    path.write_text("")
    return (read_cluster_configuration if cluster else read_configuration)(str(path), {}, settings)


def test_with_room_enough_the_defaults_are_the_usual_ones(tmp_path: Path) -> None:
    found = configured(tmp_path, "memory.limit_bytes=8 GiB")
    for (section, key), _ in SHARES.items():
        if section in SECTIONS:
            assert found.value(section, key) == getattr(SECTIONS[section](), key)


@pytest.mark.parametrize("cluster", [False, True])
def test_the_block_cache_has_a_share_of_the_limit_up_to_a_bound(tmp_path: Path, cluster: bool) -> None:
    sizes = {}
    for gibibytes in (1, 2, 4, 6, 8, 100):
        found = configured(tmp_path, f"memory.limit_bytes={gibibytes} GiB", cluster=cluster)
        sizes[gibibytes] = found.value("cache", "block_cache_bytes") / MIB
    assert 0.13 < sizes[1] / 1024 < 0.15
    assert 0.14 < sizes[2] / 2048 < 0.15
    assert 0.14 < sizes[6] / 6144 < 0.15
    assert sizes[8] == sizes[100] == 1024


def test_a_start_says_how_much_memory_it_may_take() -> None:
    assert MemoryOptions(2 << 30).banner(300 * MIB) == "memory  up to 2,048 MiB, 300 MiB of it for the block cache"


@pytest.mark.parametrize("mebibytes", [320, 400, 512, 700, 1000, 1400])
@pytest.mark.parametrize("cluster", [False, True])
def test_defaults_shrink_with_the_limit_and_fit_into_it(tmp_path: Path, mebibytes: int, cluster: bool) -> None:
    found = configured(tmp_path, f"memory.limit_bytes={mebibytes} MiB", cluster=cluster)
    taken = [
        2 * found.value("maintenance", "total_memtable_bytes"),
        found.value("cache", "block_cache_bytes"),
        found.value("thrift", "transfer_bytes"),
        found.value("thrift", "scanner_memory_bytes"),
    ]
    if cluster:
        taken.append(found.value("rpc_server", "transfer_bytes"))
    assert sum(taken) < mebibytes * MIB
    assert found.value("thrift", "cell_bytes") <= found.value("thrift", "message_bytes")
    assert 2 * found.value("thrift", "message_bytes") <= found.value("thrift", "transfer_bytes")


def test_what_was_set_stays_and_is_refused_where_it_does_not_fit(tmp_path: Path) -> None:
    kept = configured(tmp_path, "memory.limit_bytes=512 MiB", "cache.block_cache_bytes=100 MiB")
    assert kept.value("cache", "block_cache_bytes") == 100 * MIB
    with pytest.raises(InvalidConfiguration, match=r"most of it by cache\.block_cache_bytes = .*: set a limit of \d+"):
        configured(tmp_path, "memory.limit_bytes=512 MiB", "cache.block_cache_bytes=400 MiB")
    configured(tmp_path, "cache.block_cache_bytes=400 GiB")  # nobody set a limit


def test_too_little_for_a_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="a server needs at least 335544320"):
        configured(tmp_path, "memory.limit_bytes=100 MiB")


def test_half_of_the_machine_unless_it_was_said() -> None:
    assert MemoryOptions().limit(8 << 30) == 4 << 30
    assert MemoryOptions().limit(64 * MIB) == 320 * MIB
    assert MemoryOptions(limit_bytes=1 << 30).limit(8 << 30) == 1 << 30
    assert of_machine() > 0
