"""The state of a transfer is what docs/formats.md shows; an earlier or later format is refused by name."""

import json
import re
from pathlib import Path

import pytest

from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.importing import ImportOptions, ImportSource
from hbtable.shell.transfer.origin import refuse_another
from hbtable.shell.transfer.parts import restored
from hbtable.shell.transfer.progress import Progress

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "formats.md").read_text()


def documented(name: str) -> dict[str, object]:
    found = re.search(rf"```{name}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found is not None, name
    example: dict[str, object] = json.loads(found[1])
    return example


def saved_and_loaded(path: Path, state: dict[str, object]) -> dict[str, object]:
    Progress(path, lambda: 0.0).save(state)
    assert json.loads(path.read_text()) == state
    return Progress(path, lambda: 0.0).load()


def test_an_import_goes_on_with_the_documented_state(tmp_path: Path) -> None:
    example = documented("import")
    assert saved_and_loaded(tmp_path / "state", example) == example
    rows = tmp_path / "rows.csv"
    rows.write_bytes(b"a,1\nb,2\n")
    source = ImportSource(ImportOptions(b"t", rows, "csv"))
    origin = {name: example[name] for name in ("cluster", "table", "table_id", "file_format", "columns")}
    refuse_another(tmp_path / "state", example, {**origin, **source.read_up_to(4)})
    source.close()


def test_an_export_goes_on_with_the_documented_state(tmp_path: Path) -> None:
    example = documented("export")
    assert saved_and_loaded(tmp_path / "state", example) == example
    (tmp_path / "t.jsonl.part-00000").write_bytes(b"a,1\nb,2\nbeyond what is known to be whole")
    (part,) = restored(example, tmp_path / "t.jsonl")
    assert [part.saved()] == example["parts"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"rows": 3}', '{"format": 3}', '{"format": null}'])
def test_what_is_not_of_this_format_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    with pytest.raises(ArgumentError, match="--anew"):
        Progress(tmp_path / "state", lambda: 0.0).load()


@pytest.mark.parametrize("text", ["[]", "5", "null", '{"x": 1}'])
def test_a_file_that_is_no_state_is_called_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    with pytest.raises(ArgumentError, match="state is no state of a copy"):
        Progress(tmp_path / "state", lambda: 0.0, kind="a copy").load()
