"""Records of files: what is no row is a bad record with a message, never another row and never a trace."""

import io
import json

import pytest

from hbtable.shell.transfer.records import BadRecord, Fields, from_json, lines


def of(timestamp: object) -> bytes:
    return json.dumps({"row": "r", "cells": [{"column": "f:q", "value": "v", "timestamp": timestamp}]}).encode()


@pytest.mark.parametrize("timestamp", [0, 5, 2**63 - 1])
def test_a_timestamp_comes_through(timestamp: int) -> None:
    assert from_json(of(timestamp)).operations[0].timestamp == timestamp


@pytest.mark.parametrize("timestamp", [-1, -(2**63), 2**63, 10**100, True, False, 1.5, "5", None, [], {}])
def test_what_is_no_timestamp_is_refused(timestamp: object) -> None:
    with pytest.raises(BadRecord, match="the timestamp"):
        from_json(of(timestamp))


@pytest.mark.parametrize(
    "line",
    [
        b'{"row": "", "cells": [{"column": "f:q", "value": "v"}]}',
        b'{"row": "' + b"x" * 32768 + b'", "cells": [{"column": "f:q", "value": "v"}]}',
        b"[" * 200_000,
        b"{" * 200_000,
        b'{"row": 5, "cells": []}',
        b"\xff",
        b"null",
    ],
)
def test_what_is_no_row_is_refused(line: bytes) -> None:
    with pytest.raises(BadRecord):
        from_json(line)


@pytest.mark.parametrize("text", ["-1", "", "x", "1.5", "9" * 30, "9" * 6000, " 5", "\u0665", "9223372036854775808"])
def test_a_field_that_is_no_timestamp_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        Fields(["HBASE_ROW_KEY", "HBASE_TS_KEY", "f:q"]).mutation(["r", text, "v"])


def test_a_field_may_be_as_large_as_a_cell() -> None:
    value = "x" * (10 << 20)
    [(fields, _, _)] = list(lines(io.BytesIO(f"r,{value}\n".encode()), ","))
    assert fields == ["r", value]
