"""Reads a statement, runs it, shows the answer; until exit or Ctrl-D. Ctrl-C ends what runs, not the shell."""

import shutil
import sys
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

from hbtable import __version__
from hbtable.shell.errors import Cancelled, Leave, ShellError
from hbtable.shell.invocation import ShellOptions, make_session
from hbtable.shell.prompt.completion import ShellCompleter
from hbtable.shell.prompt.highlighting import ShellLexer
from hbtable.shell.prompt.hints import hint_line
from hbtable.shell.prompt.history import history
from hbtable.shell.prompt.paging import PagedStream
from hbtable.shell.prompt.specials import Specials
from hbtable.shell.session import ShellSession, show_error

_BANNER: Final = """\
HBase Shell (hbtable {version}, {host}:{port})
Use "help" to get list of supported commands.
Use "exit" to quit this interactive shell.
"""


def run_prompt(options: ShellOptions) -> int:
    """The exit code."""
    paged = PagedStream(sys.stdout)
    width = shutil.get_terminal_size().columns
    session = make_session(options, _confirm, width, paged.as_stream())
    server = session.context.server
    sys.stdout.write(_BANNER.format(version=__version__, host=server.host, port=server.port))
    specials = Specials(session, paged)
    reader = _reader(session, specials)
    count = 0
    while True:
        count += 1
        try:
            with patch_stdout(raw=True):
                text = reader.prompt(ANSI(f"hbase:{count:03d}:0> "))
        except KeyboardInterrupt:
            count -= 1
            continue
        except EOFError:
            return 0
        try:
            _run_one(session, specials, paged, text)
        except Leave as leave:
            return leave.status & 255


def _run_one(session: ShellSession, specials: Specials, paged: PagedStream, text: str) -> None:
    """One statement and its errors."""
    try:
        if not specials.run(text):
            session.execute(text)
    except KeyboardInterrupt:
        session.context.server.close()
        paged.finish()
        show_error(session, Cancelled("the command was cancelled; what it changed on the server stays"), sys.stderr)
    except ShellError as error:
        paged.finish()
        sys.stdout.write("\n")
        show_error(session, error, sys.stdout)
        sys.stdout.write("\n")
    except BrokenPipeError:
        pass  # the pager was left before the end
    finally:
        session.context.out.flush()
        paged.finish()


def _confirm(question: str) -> bool:
    try:
        return input(f"{question} ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _reader(session: ShellSession, specials: Specials) -> PromptSession[str]:
    return PromptSession(
        history=history(sys.stderr),
        completer=ShellCompleter(session, specials),
        complete_while_typing=False,
        lexer=ShellLexer(session),
        auto_suggest=AutoSuggestFromHistory(),
        bottom_toolbar=lambda: hint_line(reader_text(session)),
        key_bindings=_keys(specials),
        multiline=True,
        prompt_continuation="hbase:...:0* ",
        enable_history_search=False,
    )


def reader_text(_: ShellSession) -> str:
    """The text that is being typed at this moment."""
    from prompt_toolkit.application import get_app

    return get_app().current_buffer.document.text_before_cursor


def _keys(specials: Specials) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        """Runs a complete statement; an open bracket or a comma goes on in the next line."""
        buffer = event.current_buffer
        if specials.whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    return keys
