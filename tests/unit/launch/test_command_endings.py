"""Every command that is broken off, or cannot write its answer, ends with a message and an exit code, and no trace."""

import errno
import os

import click
import pytest
from click.testing import CliRunner

from hbtable.launch.cli.command import main
from hbtable.launch.cli.transfer_commands import shown

NAMES = sorted(main.commands)
ENDINGS: list[tuple[BaseException, int, str]] = [
    (KeyboardInterrupt(), 130, "hbtable {}: broken off\n"),
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 1, "hbtable: the answer: No space left on device\n"),
    (OSError(errno.EACCES, "Permission denied", "a/file"), 1, "hbtable: a/file: Permission denied\n"),
    (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_ends_with_a_message_and_a_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, code, said in ENDINGS:

        def raising(*_: object, error: BaseException = error, **__: object) -> click.Context:
            raise error

        monkeypatch.setattr(main.commands[name], "make_context", raising)
        done = CliRunner().invoke(main, [name])
        assert (done.exit_code, done.output) == (code, said.format(name)), error


def test_a_transfer_names_what_it_could_not_write(capsys: pytest.CaptureFixture[str]) -> None:
    """A write does not name its file."""
    with pytest.raises(SystemExit), shown(writes="out.jsonl"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    told = capsys.readouterr().err
    assert told == "hbtable: out.jsonl: No space left on device; make room, then give the same command again\n"
