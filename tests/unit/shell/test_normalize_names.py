"""The tables that `normalize` of the shell asks for: METADATA only when it is named, and nothing else is said."""

from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.shell.commands.cluster import normalizer

TABLES = [SimpleNamespace(name=name) for name in (b"t", b"u", b"ns:t")]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({b"TABLE_NAME": b"t"}, [b"t"]),
        ({b"TABLE_NAME": b"hbase:meta"}, [b"hbase:meta"]),
        ({b"TABLE_NAMES": [b"hbase:meta", b"u"]}, [b"u", b"hbase:meta"]),
        ({b"NAMESPACE": b"hbase"}, []),
        ({b"REGEX": b".*"}, [b"t", b"u", b"ns:t"]),
        ({b"TABLE_NAME": b"hbase:meta", b"NAMESPACE": b"default"}, []),
        ({b"TABLE_NAME": b"hbase:meta", b"REGEX": b".*"}, []),
    ],
)
def test_metadata_is_asked_for_by_its_name_alone(
    given: dict[Any, Any], asked: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(normalizer, "matching", lambda _context, _pattern: TABLES)
    assert normalizer._wanted(None, given) == asked  # type: ignore[arg-type]
