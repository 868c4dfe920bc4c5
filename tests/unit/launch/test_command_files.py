"""Files that commands make where they are told are their owner's alone, whatever the umask."""

import os
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from hbtable.launch.cli.command import main

OF_DATA_FOLDERS = {"start", "demo", "check", "repair", "master", "tabletserver", "thrift"}
"""They make files in a folder that is closed already, or that its owner has opened to a group."""


@pytest.fixture(autouse=True)
def umask() -> Iterator[int]:
    before = os.umask(0o422)
    yield 0o422
    os.umask(before)


def in_force() -> int:
    found = os.umask(0o777)
    os.umask(found)
    return found


@pytest.mark.parametrize("name", main.commands)
def test_every_command_but_those_of_data_folders(name: str, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(main.commands[name], "parse_args", lambda context, arguments: arguments)
    monkeypatch.setattr(main.commands[name], "invoke", lambda context: seen.append(in_force()))
    done = CliRunner().invoke(main, [name])
    assert (done.exit_code, done.exception) == (0, None)
    assert seen == [umask if name in OF_DATA_FOLDERS else umask | 0o077]
    assert in_force() == umask
