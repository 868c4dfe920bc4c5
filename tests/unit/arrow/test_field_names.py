r"""A column whose name is no UTF-8 is read into a field that is written back as the same column, or not at all. So is
one whose name has the letters that stand for such a byte, \xff."""

import itertools
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from hbtable.arrow.forms import WideForm, wide_columns
from hbtable.arrow.writing import mutations_of
from hbtable.errors import WrongValue
from hbtable.model.read import ScanPage
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.reading import records
from hbtable.shell.transfer.records import BadRecord

PIECES = [b"q", b"\xff", b"\\", b"xff", b"\\xff", b"\\xFF", b"\\x7f", b"\xc3\xa4", b"\xc3", b"\xa4", b"\0", b":"]
NAMES = [b"f:" + b"".join(pieces) for pieces in itertools.product(PIECES, repeat=2)]


def batch_of(names: list[bytes]) -> pa.RecordBatch:
    form = WideForm(wide_columns(dict.fromkeys(names)))
    (batch,) = form.batches(ScanPage([(b"r", [(name, 1, name) for name in sorted(names)])], None))
    return batch


def written(batch: pa.RecordBatch, **options: object) -> list[tuple[bytes, bytes]]:
    """Each column with its value."""
    made = mutations_of(batch, "row", options.get("columns"), None, 1)  # type: ignore[arg-type]
    return [(family + b":" + qualifier, value) for one in made for _, family, qualifier, _, value in one.operations]


def imported(file: Path, batch: pa.RecordBatch, columns: tuple[str, ...] = ()) -> list[tuple[bytes, bytes]]:
    pyarrow.parquet.write_table(pa.Table.from_batches([batch]), file)
    found = []
    for record, _ in records(file, "parquet", columns, 0):
        assert not isinstance(record, BadRecord)
        found += [(one.family + b":" + one.qualifier, one.value) for one in record.operations or ()]
    return found


def without_metadata(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.cast(pa.schema([field.remove_metadata() for field in batch.schema]))


@pytest.mark.parametrize("name", dict.fromkeys(NAMES))
def test_a_column_comes_back_with_its_name_or_is_refused(tmp_path: Path, name: bytes) -> None:
    batch = batch_of([name])
    assert written(batch) == imported(tmp_path / "whole", batch) == [(name, name)]
    lost = without_metadata(batch)
    field = lost.schema.names[1]
    assert written(lost, columns={field: name}) == [(name, name)]
    assert imported(tmp_path / "named", lost, ("HBASE_ROW_KEY", name.decode("utf-8", "surrogateescape"))) == [
        (name, name)
    ]
    if batch.schema.field(1).metadata is None:
        assert field.encode() == name
        assert written(lost) == imported(tmp_path / "lost", lost) == [(name, name)]
        return
    with pytest.raises(WrongValue, match="may be named for a column with these letters"):
        written(lost)
    with pytest.raises(ArgumentError, match="with bytes that are no UTF-8; name all columns of the file"):
        imported(tmp_path / "lost", lost)


def test_names_of_random_bytes_come_back_together() -> None:
    generator = random.Random(5)
    names = list({b"f:" + generator.randbytes(generator.randrange(1, 5)) for _ in range(300)})
    assert sorted(written(batch_of(names))) == sorted((name, name) for name in names)


def test_a_field_that_was_renamed_is_written_as_its_new_name() -> None:
    renamed = batch_of([b"f:\xff"]).rename_columns(["row", "f:other"])
    assert written(renamed) == [(b"f:other", b"f:\xff")]
    with pytest.raises(WrongValue, match="may be named for a column"):
        written(renamed.rename_columns(["row", r"f:\xfe"]))


@pytest.mark.parametrize("metadata", [b"", b"6", b"zz", b"\xff", b"663aff00"])
def test_metadata_of_another_column_are_none(metadata: bytes) -> None:
    field = pa.field(r"f:\xff", pa.binary(), metadata={b"hbtable.column": metadata})
    batch = pa.RecordBatch.from_arrays(
        [pa.array([b"r"]), pa.array([b"v"])], schema=pa.schema({"row": pa.binary()}).append(field)
    )
    with pytest.raises(WrongValue, match="may be named for a column"):
        written(batch)
