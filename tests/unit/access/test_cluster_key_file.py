"""The file with a cluster's keys: made once, read by its owner alone, and never shown."""

import os
import stat
from pathlib import Path

import pytest

from hbtable.access.cluster_key_file import make_cluster_key, read_cluster_keys
from hbtable.errors import AlreadyExists, InvalidConfiguration, StorageFailed

FORMATS = Path(__file__).parents[3] / "docs" / "formats.md"
LINE = f"hbtable-cluster-key-1 {'ab' * 32}"


def written(folder: Path, text: str, mode: int = 0o600) -> str:
    path = folder / "key"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_key_is_made_for_its_owner_alone_and_each_is_another(tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        path = tmp_path / name
        make_cluster_key(str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        (key,) = read_cluster_keys(str(path))
        assert len(key) == 32
        made.append(key)
    assert made[0] != made[1]


def test_a_key_that_is_there_is_not_lost(tmp_path: Path) -> None:
    path = written(tmp_path, LINE)
    with pytest.raises(AlreadyExists, match="must not be lost"):
        make_cluster_key(path)
    assert Path(path).read_text() == LINE
    with pytest.raises(StorageFailed, match="cannot be made"):
        make_cluster_key(str(tmp_path / "no folder" / "key"))


def test_all_keys_are_read_in_their_order(tmp_path: Path) -> None:
    text = f"# new\n\nhbtable-cluster-key-1 {'01' * 32}\n  {LINE}  \n"
    assert read_cluster_keys(written(tmp_path, text)) == [b"\1" * 32, b"\xab" * 32]


def test_the_example_of_the_document_is_read(tmp_path: Path) -> None:
    (line,) = [line for line in FORMATS.read_text().splitlines() if line.strip().startswith("hbtable-cluster-key-1 ")]
    (key,) = read_cluster_keys(written(tmp_path, line))
    assert key.hex() == line.split()[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no key"),
        ("# nothing\n", "has no key"),
        ("secret words", "line 1 is no key that this hbtable knows"),
        (f"{LINE}\nhbtable-cluster-key-2 {'ab' * 32}", "line 2 is no key that this hbtable knows"),
        (LINE[:-1], "line 1: a key has 64 hexadecimal digits"),
        (LINE[:-2], "line 1: a key has 64 hexadecimal digits"),
        (LINE[:-1] + "x", "line 1: a key has 64 hexadecimal digits"),
        (f"{LINE}ab", "line 1: a key has 64 hexadecimal digits"),
    ],
)
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words) as refused:
        read_cluster_keys(written(tmp_path, text))
    assert "secret" not in str(refused.value)
    assert "abab" not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_one_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InvalidConfiguration, match="chmod 600"):
        read_cluster_keys(written(tmp_path, LINE, mode))


def test_one_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="cannot be read: No such file"):
        read_cluster_keys(str(tmp_path / "none"))
    os.mkdir(tmp_path / "folder", 0o700)
    with pytest.raises(InvalidConfiguration, match="cannot be read: Is a directory"):
        read_cluster_keys(str(tmp_path / "folder"))
