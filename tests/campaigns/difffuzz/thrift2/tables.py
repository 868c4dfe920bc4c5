"""A table of one of the two servers: calls made of what was drawn, and answers that can be compared."""

import re
from contextlib import suppress
from typing import Any, Final

from thriftpy2.rpc import make_client
from thriftpy2.thrift import TApplicationException, TException

from tests.campaigns.difffuzz.thrift2.alphabet import FAMILIES, Call, Made
from tests.harness.interfaces import interface

TWO: Final = interface("hbase2")
_LAST: Final = b"\xff\xff"
"""Behind each row of a program."""
_JAVA_CLASS: Final = re.compile(r"(?:\w+\.)*(\w+(?:Exception|Error))\b")


class Table:
    """Dropped and made anew. close() at the end."""

    def __init__(self, port: int, name: bytes) -> None:
        self._calls = make_client(TWO.THBaseService, "127.0.0.1", port, timeout=120_000)
        self._name = name
        full = TWO.TTableName(ns=b"default", qualifier=name)
        with suppress(TException):
            self._calls.disableTable(full)
            self._calls.deleteTable(full)
        families = [TWO.TColumnFamilyDescriptor(name=family, **options) for family, options in FAMILIES.items()]
        self._calls.createTable(TWO.TTableDescriptor(tableName=full, columns=families), [])

    def close(self) -> None:
        self._calls.close()

    def answer(self, prefix: bytes, call: Call) -> Any:
        """An error is a tuple that begins with its type."""
        arguments = {name: made(value, prefix) for name, value in call.arguments.items()}
        if "row" in arguments:  # of a condition, which is of the same row as the change
            row = arguments["row"] = prefix + arguments["row"]
            for name in {"tput", "tdelete", "rowMutations"} & set(arguments):
                _give_row(arguments[name], row)
        try:
            if call.method == "scanAll":
                return plain(self._all_rows(**arguments))
            answer = getattr(self._calls, call.method)(self._name, **arguments)
            if call.method == "increment":
                _forget_times(answer)
            return plain(answer)
        except TWO.TIOError as error:
            named = _JAVA_CLASS.search(error.message)
            return "TIOError", bool(error.canRetry), named[1] if named else error.message
        except TWO.TIllegalArgument:
            return ("TIllegalArgument",)
        except TApplicationException as error:
            return "TApplicationException", error.type

    def _all_rows(self, tscan: Any, numRows: int) -> list[Any]:
        scanner = self._calls.openScanner(self._name, tscan)
        found = []
        while rows := self._calls.getScannerRows(scanner, numRows):
            found += rows
        self._calls.closeScanner(scanner)
        return found


def made(drawn: Any, prefix: bytes) -> Any:
    """As it is sent: rows begin with `prefix`, and scans end within it."""
    if isinstance(drawn, Made):
        fields = {name: made(value, prefix) for name, value in drawn.fields.items()}
        for name in {"row", "startRow", "stopRow"} & set(fields):
            fields[name] = prefix + fields[name]
        if drawn.struct == "TScan":
            ends = (prefix + _LAST, prefix) if fields.get("reversed") else (prefix, prefix + _LAST)
            fields = {"startRow": ends[0], "stopRow": ends[1], **fields}
        one = getattr(TWO, drawn.struct)(**fields)
        if drawn.struct == "TRowMutations":
            _give_row(one, one.row)
        return one
    if isinstance(drawn, list):
        return [made(one, prefix) for one in drawn]
    return {key: made(one, prefix) for key, one in drawn.items()} if isinstance(drawn, dict) else drawn


def _give_row(change: Any, row: bytes) -> None:
    change.row = row
    for one in getattr(change, "mutations", None) or ():
        (one.put or one.deleteSingle).row = row


def _forget_times(result: Any) -> None:
    """Of a counter that a marker hides hbtable tells none (docs/deviations.md)."""
    for cell in result.columnValues:
        cell.timestamp = None


def plain(answer: Any) -> Any:
    """Without the server's times, and without `partial`, which HBase sets on some last pieces and not on others."""
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    if isinstance(answer, TWO.TResult):
        cells = [(one.family, one.qualifier, _time(one.timestamp), one.value) for one in answer.columnValues]
        return answer.row, cells, bool(answer.stale)
    return ("TDelete", answer.row) if isinstance(answer, TWO.TDelete) else answer


def _time(time: int | None) -> Any:
    return "now" if time is not None and 10**12 < time < 2 * 10**12 else time
