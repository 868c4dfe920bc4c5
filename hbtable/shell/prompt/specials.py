r"""What people love in other shells and HBase's does not have.

use 't1'              commands about cells may leave the table out: put 'r', 'f:q', 'v'; use with nothing ends it
\watch 2 status       runs the rest every 2 seconds until Ctrl-C
\x                    turns drawn tables on and off
scan 't1' > file      the answer into a file;  scan 't1' | grep x   through a command
"""

import re
import subprocess
from typing import Final, final

from hbtable.shell.context import show_name
from hbtable.shell.errors import BadArgument, ShellError
from hbtable.shell.formats import make_output
from hbtable.shell.parser import parse
from hbtable.shell.prompt.paging import PagedStream
from hbtable.shell.session import Session
from hbtable.shell.syntax import Call, Node, Text

_WATCH: Final = re.compile(r"\\watch(?:\s+(\d+(?:\.\d+)?))?\s+(.+)", re.DOTALL)
_USE: Final = re.compile(r"""\s*use(?:\s+['"](.+?)['"])?\s*$""")
_REDIRECT: Final = re.compile(r"""^(.*[\w'"\]})])\s*(>|\|)\s*([^'"=>|]\S.*|[^'"=>|])$""", re.DOTALL)
_ON_CELLS: Final = ("put", "get", "scan", "count", "delete", "deleteall", "incr", "append", "get_counter", "get_splits")


@final
class Specials:
    """`current`: the table in use."""

    def __init__(self, session: Session, paged: PagedStream) -> None:
        self._session = session
        self._paged = paged
        self._drawn = False
        self.current: bytes | None = None

    def run(self, text: str) -> bool:
        """False: nothing special, the language's business."""
        if found := _USE.match(text):
            self._use(found.group(1))
        elif found := _WATCH.match(text.strip()):
            self._watch(float(found.group(1) or 2), found.group(2))
        elif text.strip() == "\\x":
            self._draw()
        elif text.strip().startswith("\\"):
            raise BadArgument("there is \\watch SECONDS COMMAND and \\x")
        elif found := _REDIRECT.match(text.strip()):
            self._redirect(found.group(1), found.group(2), found.group(3).strip())
        elif self.current is not None:
            self._session.execute_parsed([self._with_table(node) for node in parse(text)])
        else:
            return False
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

    def _redirect(self, command: str, sign: str, target: str) -> None:
        """The whole answer goes there, nothing to the terminal."""
        context = self._session.context
        before = context.out
        try:
            if sign == ">":
                with open(target, "w", encoding="utf-8") as file:
                    self._into(file, command)
                return
            with subprocess.Popen(target, shell=True, stdin=subprocess.PIPE, text=True) as process:  # noqa: S602 -- asked for
                if process.stdin is not None:
                    self._into(process.stdin, command)
        except OSError as error:
            raise ShellError(f"{target}: {error.strerror}") from None
        finally:
            context.out = before
            self._paged.target = None

    def _into(self, stream: "object", command: str) -> None:
        from typing import IO, cast

        self._paged.target = cast("IO[str]", stream)
        self._session.context.out = make_output("table" if self._drawn else "hbase", self._paged.as_stream(), 0)
        if not self._session_use(command):
            self._session.execute(command)
        self._session.context.out.flush()

    def _session_use(self, command: str) -> bool:
        if self.current is None:
            return False
        self._session.execute_parsed([self._with_table(node) for node in parse(command)])
        return True
