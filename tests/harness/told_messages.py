"""Sentences of the program that ask somebody to act, read from its source, so that no run has to meet them.

Which do: each log line from WARNING up, which is there for whoever runs the server; each error of the configuration;
and each other text in which a clause begins with an imperative, or which names a command. What is filled in is `...`.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.harness.commands import ROOT

_IMPERATIVES: Final = (
    "add|alter|ask|bring|chmod|choose|chown|close|connect|copy|delete|disable|drop|enable|end|fetch|find|flush|free|give"
    "|have|increase|install|leave|let|log|look|lower|make|mend|move|name|open|point|put|read|release|remove|repair|repeat"
    "|replace|restart|restore|retry|revoke|run|see|send|set|shut|start|stop|take|truncate|try|turn|update|upgrade|use"
    "|wait|write"
)
_BEGINS_A_CLAUSE: Final = r"(?:(?:[:;,]|(?<!\.\.)\.) (?:(?:then|and|or|otherwise|please) )*|\bor |\bthen )"
_ASKS: Final = re.compile(
    rf"{_BEGINS_A_CLAUSE}(?:{_IMPERATIVES})\b(?! of\b)"
    r"|`[^`]+`|pip install|(?:run|with) hbtable \w+|[Tt]ry again|retry later|docs/\w|[a-z]\?(?: |$)"
)
_FILLED_IN: Final = re.compile(r"%[-.0-9]*[sdrgfox]|\{\w*(?:![rs])?(?::[^}]*)?\}")
_LEVELS: Final = {"warning", "error", "critical", "exception"}
_HELP: Final = {"help", "short_help", "epilog", "metavar", "doc"}
_NOT_TOLD: Final = {
    "hbtable/testing": "only tests see it",
    "hbtable/launch/cli/demo.py": "says what to try",
    "hbtable/launch/first_lines.py": "says what to try",
    "hbtable/launch/config/example_configuration.py": "the head of a file",
    "hbtable/shell/catalogue.py": "for who writes a command of the shell",
    "hbtable/rpc/codec": "for who writes a call between roles",
}
_READS_LIKE_ONE: Final = {"Gives permissions: letters of RWXCA (read, write, execute, create, administer)."}


class Told(NamedTuple):
    text: str
    place: str
    """`hbtable/tablet/tablet.py:12`"""


@functools.cache
def messages_that_ask() -> list[Told]:
    return [
        Told(text, f"{path.relative_to(ROOT)}:{line}")
        for path in sorted(Path(ROOT, "hbtable").rglob("*.py"))
        if not any(path.is_relative_to(Path(ROOT, part)) for part in _NOT_TOLD)
        for text, line in texts_that_ask(path.read_text())
    ]


def texts_that_ask(source: str) -> Iterator[tuple[str, int]]:
    """(text, line) of a module's."""
    module = ast.parse(source)
    always, never = _told_whatever_they_say(module), _told_to_nobody(module)
    for node in ast.walk(module):
        text = _text(node) if id(node) not in never else ""
        if " " in text.strip(" .") and text not in _READS_LIKE_ONE and (id(node) in always or _ASKS.search(text)):
            yield text, node.lineno  # type: ignore[attr-defined]


def _told_whatever_they_say(module: ast.Module) -> set[int]:
    """The ids of the texts of log lines and of errors of the configuration."""
    found: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            logs = isinstance(node.func, ast.Attribute) and "log" in ast.unparse(node.func.value).lower()
            if (logs and name in _LEVELS) or name == "InvalidConfiguration":
                found |= {id(part) for part in _alternatives(node.args[0])}
    return found


def _alternatives(text: ast.expr) -> Iterator[ast.expr]:
    """The text of a call, and both where it depends."""
    if isinstance(text, ast.IfExp):
        yield from _alternatives(text.body)
        yield from _alternatives(text.orelse)
    else:
        yield text


def _told_to_nobody(module: ast.Module) -> set[int]:
    """The ids of docstrings, of texts of help, and of the parts of f-strings, which count as a whole."""
    found: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
        elif isinstance(node, ast.keyword) and node.arg in _HELP:
            found |= {id(part) for part in ast.walk(node.value)}
        elif isinstance(node, ast.JoinedStr):
            found |= {id(part) for part in node.values}
    return found


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = _FILLED_IN.sub("...", node.value)
    elif isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.values)
    else:
        return ""
    return "" if "\n" in text else re.sub(r"(?:\.\.\.)+", "...", text).strip()
