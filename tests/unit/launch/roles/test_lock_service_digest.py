"""The file with the digest by which roles are known to ZooKeeper."""

from pathlib import Path

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.launch.roles.lock_service import read_digests


def written(folder: Path, text: str, mode: int = 0o600) -> str:
    path = folder / "digest"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_each_line_is_one(tmp_path: Path) -> None:
    assert read_digests(written(tmp_path, "hbtable:new\n\nhbtable:a:b\n")) == [("hbtable", "new"), ("hbtable", "a:b")]


@pytest.mark.parametrize(
    "text", ["", "\n", "hbtable", "hbtable:", ":secret", "a:se cret", "a:secr\xe9t", "ok:ok\nsecret"]
)
def test_what_is_none_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidConfiguration, match="NAME:PASSWORD is due") as refused:
        read_digests(written(tmp_path, text))
    assert "secr" not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_one_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InvalidConfiguration, match="chmod 600"):
        read_digests(written(tmp_path, "a:b", mode))


def test_one_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"cluster\.zookeeper_digest = .* cannot be read: No such file"):
        read_digests(str(tmp_path / "none"))
