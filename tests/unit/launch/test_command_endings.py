"""Every command that is broken off, or cannot write its answer, ends with a message and an exit code, and no trace."""

import errno
import os

import click
import pytest
from click.testing import CliRunner

from hbtable.launch.cli.command import main

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
