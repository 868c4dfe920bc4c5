"""Every number of the configuration at both ends and beyond them, and what two keys say together."""

import itertools
import re
from pathlib import Path

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.bounds import bounds_of
from hbtable.launch.config.cluster_configuration import CLUSTER_SECTIONS, read_cluster_configuration
from hbtable.launch.config.configuration import keys_of
from hbtable.launch.config.sections import CLUSTER_ALONE, SECTIONS, read_configuration

CONF = Path(__file__).parents[4] / "conf"
NUMBERS = sorted(
    {
        (section, field.name, str(field.type))
        for section, kind in itertools.chain(SECTIONS.items(), CLUSTER_SECTIONS.items())
        for field in keys_of(kind)
        if str(field.type) in ("int", "float") or field.type in (int, float)
    }
)


def configured(folder: Path, section: str, *settings: str) -> object:
    path = folder / "empty.toml"
    path.write_text("")
    read = read_cluster_configuration if section in CLUSTER_ALONE else read_configuration
    return read(str(path), {}, settings)


def documented_zeros() -> list[tuple[str, str]]:
    """The keys of which the two example files say what 0 means."""
    found: set[tuple[str, str]] = set()
    for name in ("hbtable.toml", "cluster.toml"):
        section = told = ""
        for line in (CONF / name).read_text().splitlines():
            if line.startswith("["):
                section, told = line.strip("[]"), ""
            elif setting := re.fullmatch(r"# (\w+) = .*", line):
                if re.search(r"\b0: ", told):
                    found.add((section, setting[1]))
                told = ""
            else:
                told += line.removeprefix("#") if line else ""
    return sorted(found)


def test_a_zero_that_is_documented_is_taken() -> None:
    zeros = documented_zeros()
    assert ("disk", "ballast_bytes") in zeros
    assert len(zeros) > 10
    assert [key for key in zeros if bounds_of(*key)[0] != 0] == []


@pytest.mark.parametrize(("section", "key", "_"), NUMBERS)
def test_a_number_beyond_its_bounds_is_refused_by_name(tmp_path: Path, section: str, key: str, _: str) -> None:
    least, most = bounds_of(section, key)
    for wrong in (
        "-1",
        str(least - 1),
        str(most + 1),
        str(most * 10**9 + 10**9),
        "nan",
        "inf",
        "-inf",
        "1e400",
        "x",
        "",
    ):
        with pytest.raises(InvalidConfiguration, match=rf"{section}\.{key}|section \[{section}\]"):
            configured(tmp_path, section, f"{section}.{key}={wrong}")
    for literal in ("true", "[1]", "nan", "inf", "-inf"):
        path = tmp_path / "wrong.toml"
        path.write_text(f"[{section}]\n{key} = {literal}\n")
        with pytest.raises(InvalidConfiguration, match=rf"{section}\.{key}"):
            (read_cluster_configuration if section in CLUSTER_ALONE else read_configuration)(str(path), {})


@pytest.mark.parametrize(("section", "key", "_"), NUMBERS)
def test_a_number_at_its_bounds_is_taken_or_contradicts_another_key(
    tmp_path: Path, section: str, key: str, _: str
) -> None:
    """Never refused for what it is by itself: the message then names a second key, or the section's own rule."""
    for end in bounds_of(section, key):
        shown = str(int(end)) if end == int(end) else str(end)
        refused = ""
        try:
            configured(tmp_path, section, f"{section}.{key}={shown}")
        except InvalidConfiguration as error:
            refused = str(error)
        assert "it lies between" not in refused


@pytest.mark.parametrize(("section", "key"), [(section, key) for section, key, kind in NUMBERS if "int" in kind])
def test_where_a_whole_number_is_due_a_fraction_is_refused(tmp_path: Path, section: str, key: str) -> None:
    least, _ = bounds_of(section, key)
    path = tmp_path / "wrong.toml"
    path.write_text(f"[{section}]\n{key} = {least + 1.6}\n")
    with pytest.raises(InvalidConfiguration, match=rf"{section}\.{key} = .* whole number"):
        (read_cluster_configuration if section in CLUSTER_ALONE else read_configuration)(str(path), {})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["tablet.stall_files=12"], "wait for a compaction"),
        (["tablet.merge_files=13"], "wait for a compaction"),
        (["thrift.message_bytes=1 MiB"], "no such cell could be sent"),
        (["server.port=9090.6"], "whole number"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(tmp_path: Path, settings: list[str], words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        configured(tmp_path, "server", *settings)
