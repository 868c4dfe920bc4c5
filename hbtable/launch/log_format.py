r"""The text of a log's line: one line for each record, whatever strangers sent is in it.

A name, a mechanism or a key of theirs may hold an end of line, and what follows would look like a line of the log. Here
it is \x0A, and so is everything that a terminal would obey. A traceback has lines of its own, which are indented.
"""

import logging
from typing import Any, Final, final

from hbtable.model.visible import visible

FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_INSET: Final = "    "


@final
class LineFormatter(logging.Formatter):
    """Formats as FORMAT says."""

    def __init__(self) -> None:
        super().__init__(FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- logging's name
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 -- logging's name
        return _inset(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 -- logging's name
        return _inset(super().formatStack(stack_info))


def _inset(text: str) -> str:
    return "\n".join(f"{_INSET}{visible(line)}" for line in text.split("\n"))
