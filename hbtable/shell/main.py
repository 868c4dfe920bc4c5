"""`hbtable shell`: from the command line's arguments to an exit code.

Exit codes: 0 fine, 1 a command failed, 2 misuse, 3 no server answers; `exit N` ends with N. Standard output carries
answers only; errors go to standard error: `Kind: message`, then where in the line, then what may have been meant.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TextIO

from hbtable.shell.echo import Echo
from hbtable.shell.errors import Leave, ShellError
from hbtable.shell.invocation import ShellOptions, make_session
from hbtable.shell.language.literals import Value
from hbtable.shell.session import ShellSession, show_error

OK: Final = 0
FAILED: Final = 1
_INTERRUPTED: Final = 130


def run_shell(options: ShellOptions) -> int:
    """The exit code."""
    if options.interactive and not options.commands and options.file is None and sys.stdin.isatty():
        from hbtable.shell.prompt.loop import run_prompt

        return run_prompt(options)
    lines: Iterator[str]
    if options.commands:
        lines = iter([f"{command}\n" for command in options.commands])
    elif options.file is not None:
        try:
            lines = iter(Path(options.file).read_text(encoding="utf-8-sig", errors="surrogateescape").splitlines(True))
        except OSError as error:
            sys.stderr.write(f"hbtable: {options.file}: {error.strerror}\n")
            return 2
    else:
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")  # type: ignore[union-attr]
        lines = iter(sys.stdin.readline, "")
    return run_lines(options, lines)


def run_one(options: ShellOptions, name: str, arguments: list[Value]) -> int:
    """One command without the language; the exit code."""
    session = make_session(options, asker(iter(()), options.yes, sys.stdout))
    return _guarded(session, lambda session: session.call(name, arguments))


def run_lines(options: ShellOptions, lines: Iterator[str]) -> int:
    """The exit code of a script. Lines end in line ends; questions take their answers from them."""
    session = make_session(options, asker(lines, options.yes, sys.stdout))
    echo = Echo(sys.stdout) if options.echo else None
    return _guarded(session, lambda session: session.run_lines(lines, echo))


def _guarded(session: ShellSession, work: Callable[[ShellSession], None]) -> int:
    """Errors as messages, and the exit code."""
    out = session.context.out
    code = OK
    try:
        work(session)
    except Leave as leave:
        code = leave.status & 255
    except ShellError as error:
        out.flush()
        show_error(session, error, sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # nobody reads: the exit must not flush into the pipe again
        return FAILED
    session.context.server.close()
    try:
        out.flush()
    except BrokenPipeError:
        sys.stdout = None
        return code or FAILED
    return code


def asker(lines: Iterator[str], yes: bool, stream: TextIO) -> Callable[[str], bool]:
    """Questions are printed; the next line of the script is the answer. Without one nothing may be done."""

    def ask(question: str) -> bool:
        stream.write(f"{question}\n")
        if yes:
            return True
        answer = next(lines, None)
        if answer is None:
            raise ShellError("the question was not answered: put y on the next line, or start the shell with --yes")
        return answer.strip().lower() in ("y", "yes")

    return ask
