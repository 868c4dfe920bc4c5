r"""Commands of the prompt that HBase's shell does not have.

use 't1'              commands about cells may leave the table out: put 'r', 'f:q', 'v'; use with nothing ends it
\watch 2 status       runs the rest every 2 seconds until Ctrl-C
\x                    turns drawn tables on and off
scan 't1' > file      the answer into a new file;  scan 't1' |! grep x   through a command (redirection.py)
"""

import os
import re
import subprocess
from typing import IO, Final, final

from hbtable.shell.answers.formats import make_output
from hbtable.shell.context import show_name
from hbtable.shell.errors import ArgumentError, Incomplete, ShellError
from hbtable.shell.language.parser import parse
from hbtable.shell.language.syntax import Call, Node, Text
from hbtable.shell.prompt.paging import PagedStream
from hbtable.shell.prompt.redirection import Redirection, command_part, redirection
from hbtable.shell.session import ShellSession

_WATCH: Final = re.compile(r"\\watch(?:\s+(\d+(?:\.\d+)?))?\s+(.+)", re.DOTALL)
_USE: Final = re.compile(r"""\s*use(?:\s+(['"])([^'"]+)\1)?\s*$""")
_PROMPT: Final = re.compile(r"\s*hbase(?:\(main\))?(?::\d+)*(?::[\d.]+)?[>*]\s*")
_MODES: Final = {">": "x", ">>": "a", ">!": "w"}
_ON_CELLS: Final = ("put", "get", "scan", "count", "delete", "deleteall", "incr", "append", "get_counter", "get_splits")


@final
class Specials:
    """The commands of the prompt. `current`: the table in use."""

    def __init__(self, session: ShellSession, paged: PagedStream) -> None:
        self._session = session
        self._paged = paged
        self._drawn = False
        self.current: bytes | None = None

    def run(self, text: str) -> bool:
        """False: nothing special, the language's business."""
        if found := _USE.match(text):
            self._use(found.group(2))
        elif found := _WATCH.match(text.strip()):
            self._watch(float(found.group(1) or 2), found.group(2))
        elif text.strip() == "\\x":
            self._draw()
        elif text.strip().startswith("\\"):
            raise ArgumentError("there is \\watch SECONDS COMMAND and \\x")
        elif found := _PROMPT.match(text):
            raise ArgumentError(f"the prompt was pasted with the command; leave {found.group().strip()} out")
        elif goes := redirection(text, self._session.catalogue.knows):
            self._redirect(goes)
        elif self.current is not None:
            self._session.execute_parsed([self._with_table(node) for node in parse(text)])
        else:
            return False
        return True

    def whole(self, text: str) -> bool:
        """False: more lines may complete it."""
        if text.startswith("\\"):
            return True
        try:
            parse(command_part(text, self._session.catalogue.knows))
        except Incomplete:
            return False
        except ShellError:
            return True  # shown when it is run
        return True

    def _use(self, name: str | None) -> None:
        if name is not None:
            self._session.context.table(name.encode())
        self.current = name.encode() if name else None
        self._session.context.out.say(f"using {show_name(self.current)}" if self.current else "using no table")

    def _with_table(self, node: Node) -> Node:
        if isinstance(node, Call) and node.receiver is None and node.name in _ON_CELLS and self.current is not None:
            return Call(None, node.name, [Text([self.current], node.at), *node.arguments], False, node.at)
        return node

    def _watch(self, seconds: float, command: str) -> None:
        context = self._session.context
        while True:
            self._paged.write("\x1b[H\x1b[2J" + f"every {seconds:g} s: {command.strip()}   (Ctrl-C ends it)\n")
            self._session.execute(command)
            context.out.flush()
            self._paged.finish()
            context.sleep(seconds)

    def _draw(self) -> None:
        import shutil

        self._drawn = not self._drawn
        width = shutil.get_terminal_size().columns
        name = "table" if self._drawn else "hbase"
        self._session.context.out = make_output(name, self._paged.as_stream(), width)
        self._session.context.out.say(f"answers are {'drawn as tables' if self._drawn else 'in HBase lines'}")

    def _redirect(self, goes: Redirection) -> None:
        """The whole answer goes there, nothing to the terminal."""
        context = self._session.context
        before = context.out
        try:
            if goes.sign == "|!":
                self._into_command(goes)
            else:
                self._into_file(goes)
        except FileExistsError:
            advice = (
                f"is there already, and nothing was written: >> appends to it, >! replaces it ({goes.sign} does not)"
            )
            raise ShellError(f"{goes.target} {advice}") from None
        except BrokenPipeError:
            raise  # the command did not want the rest
        except OSError as error:
            raise ShellError(f"{goes.target}: {error.strerror}") from None
        finally:
            context.out = before
            self._paged.target = None
        if goes.sign != "|!":
            context.out.say(f"the answer is in {goes.target}")

    def _into_command(self, goes: Redirection) -> None:
        with subprocess.Popen(goes.target, shell=True, stdin=subprocess.PIPE, text=True) as process:  # noqa: S602 -- asked for
            if process.stdin is not None:
                self._into(process.stdin, goes.command)

    def _into_file(self, goes: Redirection) -> None:
        """A new file that a command failed to fill is removed."""
        file = open(goes.target, _MODES[goes.sign], encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
        try:
            with file:
                self._into(file, goes.command)
        except ShellError:
            if goes.sign == ">":
                os.unlink(goes.target)
            raise

    def _into(self, stream: IO[str], command: str) -> None:
        self._paged.target = stream
        self._session.context.out = make_output("table" if self._drawn else "hbase", self._paged.as_stream(), 0)
        self._session.execute_parsed([self._with_table(node) for node in parse(command)])
        self._session.context.out.flush()
