"""The options of a shell on the command line, and the session that is made of them."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, sleep, time_ns
from typing import TextIO

from hbtable.shell.answers.formats import make_output
from hbtable.shell.connection import ShellConnection
from hbtable.shell.context import Context
from hbtable.shell.session import ShellSession


@dataclass(frozen=True, slots=True)
class ShellOptions:
    """The options of the command line."""

    address: str
    commands: Sequence[str] = ()
    file: str | None = None
    interactive: bool = True
    format: str = "hbase"
    echo: bool = False
    """Prompts and echoed lines, as HBase's shell prints them from a pipe."""
    yes: bool = False
    """Questions are answered with y."""
    quiet: bool = False
    """Neither Took nor =>: one-shot forms."""


def make_session(
    options: ShellOptions, confirm: Callable[[str], bool], width: int = 0, stream: TextIO | None = None
) -> ShellSession:
    """Connects at the first command that needs a server."""
    out = make_output(options.format, stream or sys.stdout, width)
    server = ShellConnection(options.address)
    context = Context(server, out, confirm, lambda: time_ns() // 1_000_000, sleep, width > 0)
    return ShellSession(context, perf_counter, options.quiet)
