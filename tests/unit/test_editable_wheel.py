"""What `pip install --editable .` installs: the path of the checkout, the command, and what setup.cfg requires."""

import base64
import configparser
import email
import hashlib
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from editable_wheel import ROOT, write_editable, write_metadata


@pytest.fixture
def wheel(tmp_path: Path) -> dict[str, bytes]:
    """Its files and their contents."""
    with zipfile.ZipFile(tmp_path / write_editable(tmp_path)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def settings() -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def metadata(wheel: dict[str, bytes]) -> Message:
    return email.message_from_bytes(wheel["hbtable-0.1.0.dist-info/METADATA"])


def test_hbtable_is_imported_from_the_checkout(wheel: dict[str, bytes]) -> None:
    assert wheel["__editable__.hbtable-0.1.0.pth"].decode() == f"{ROOT}\n"
    assert (ROOT / "hbtable" / "__init__.py").exists()


def test_the_command_is_installed(wheel: dict[str, bytes]) -> None:
    assert b"hbtable = hbtable.__main__:main" in wheel["hbtable-0.1.0.dist-info/entry_points.txt"]


def test_every_entry_point_is_there(wheel: dict[str, bytes], settings: configparser.ConfigParser) -> None:
    found = configparser.ConfigParser()
    found.read_string(wheel["hbtable-0.1.0.dist-info/entry_points.txt"].decode())
    for group, entries in settings["options.entry_points"].items():
        assert [f"{name} = {place}" for name, place in found[group].items()] == entries.strip().splitlines()


def test_everything_required_is_required(wheel: dict[str, bytes], settings: configparser.ConfigParser) -> None:
    required = [Requirement(text) for text in metadata(wheel).get_all("Requires-Dist", [])]
    for extra, lines in [("", settings["options"]["install_requires"]), *settings["options.extras_require"].items()]:
        for line in lines.strip().splitlines():
            wanted = Requirement(line)
            for machine in ("x86_64", "aarch64", "riscv64"):
                applies = wanted.marker is None or wanted.marker.evaluate({"platform_machine": machine})
                same = [
                    one
                    for one in required
                    if (one.name, one.specifier) == (wanted.name, wanted.specifier)
                    and (not extra or f'extra == "{extra}"' in str(one.marker))
                ]
                assert len(same) == 1, line
                marker = same[0].marker
                environment = {"platform_machine": machine, "extra": extra}
                assert (marker is None or marker.evaluate(environment)) == applies, line
                if extra:
                    assert marker is not None
                    assert not marker.evaluate({**environment, "extra": ""}), line
    assert metadata(wheel).get_all("Provides-Extra") == list(settings["options.extras_require"])
    assert metadata(wheel)["Requires-Python"] == ">=3.11"


def test_a_requirement_of_an_extra_keeps_its_own_marker() -> None:
    from editable_wheel import _of_extra

    both = Requirement(_of_extra('fast>=1; platform_machine == "x86_64" or platform_machine == "arm"', "more"))
    assert both.marker is not None
    assert both.marker.evaluate({"platform_machine": "arm", "extra": "more"})
    assert not both.marker.evaluate({"platform_machine": "x86_64", "extra": ""})


def test_each_file_is_recorded_with_its_digest(wheel: dict[str, bytes]) -> None:
    record = wheel.pop("hbtable-0.1.0.dist-info/RECORD").decode()
    for name, content in wheel.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert f"{name},sha256={digest},{len(content)}\n" in record
    assert record.count("\n") == len(wheel) + 1


def test_pip_gets_the_same_metadata_before_the_wheel(wheel: dict[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "before"
    folder.mkdir()
    information = folder / write_metadata(folder)
    for path in information.iterdir():
        assert path.read_bytes() == wheel[f"{information.name}/{path.name}"]
