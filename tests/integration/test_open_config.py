"""hbtable.open(config=...): the keys of a server's configuration, as arguments."""

from pathlib import Path
from typing import Any

import pytest

import hbtable
from hbtable.launch.library_settings import options_of

pytestmark = pytest.mark.integration


def test_a_value_is_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HBTABLE_TABLET__MEMTABLE_BYTES", "1 MiB")
    config: dict[str, Any] = {"cache.block_cache_bytes": "8 MiB", "tablet.memtable_bytes": 2 << 20}
    options = options_of("os", config).server
    assert (options.tablet.memtable_bytes, options.block_cache_bytes) == (2 << 20, 8 << 20)
    assert options.log.durability == "os"
    with hbtable.open(str(tmp_path / "data"), durability="os", config=config) as database:
        database.create_table("t", ["f"]).put("r", {"f:a": "1"})
        with hbtable.open(str(tmp_path / "data"), durability="os", config=dict(config)) as again:
            assert again.table("t").row("r") == {b"f:a": b"1"}
        with pytest.raises(hbtable.AlreadyExists, match="and a config of its own: it cannot be opened with"):
            hbtable.open(str(tmp_path / "data"), durability="os")
    with hbtable.open(":memory:", config={}) as database:
        assert database.tables() == []


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ([], hbtable.WrongType, "has to be a dict"),
        ({5: 1}, hbtable.WrongType, "the key 5 has to be text"),
        ({"memtable_bytes": 1}, hbtable.InvalidConfiguration, "write it as 'section.key'"),
        ({"tablet.memtable_byte": 1}, hbtable.InvalidConfiguration, "did you mean memtable_bytes"),
        ({"server.port": 9090}, hbtable.InvalidConfiguration, "these sections take effect: log, tablet"),
        ({"tablet.memtable_bytes": "much"}, hbtable.InvalidConfiguration, "config 'tablet.memtable_bytes'"),
        ({"tablet.memtable_bytes": -1}, hbtable.InvalidConfiguration, "tablet.memtable_bytes"),
        ({"tablet.memtable_bytes": None}, hbtable.WrongType, "None has to be text, a number"),
        ({"tablet.memtable_bytes": True}, hbtable.InvalidConfiguration, "a number is due"),
        ({"log.durability": "os"}, hbtable.InvalidConfiguration, "the argument durability= says that"),
    ],
)
def test_what_cannot_be(tmp_path: Path, config: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        hbtable.open(str(tmp_path / "data"), config=config)
    assert not (tmp_path / "data").exists()
