"""Tables of interface files: they give what thriftpy2 reads from the files, and are of the files as they are."""

import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.transport import TMemoryBuffer

from hbtable.hbase.codec import interface_files
from hbtable.hbase.codec.interface_files import load_interface, parsed, table_path
from hbtable.hbase.codec.interface_tables import module_of
from tests.harness.interface_files import FOLDER, TABLES, table_text

OF_THE_TEXT = {
    "__thrift_lineno__", "__thrift_field_linenos__", "__thrift_function_linenos__", "__thrift_item_linenos__",
    "__thrift_annotations__", "__thrift_field_annotations__", "__thrift_function_annotations__",
    "__thrift_item_annotations__", "__thrift_namespaces__",
}  # fmt: skip
"""What thriftpy2 keeps for messages and for other programs, and no table has."""
OF_PYTHON = {"__dict__", "__weakref__", "__doc__", "__init__"}


def read_both(file: str) -> tuple[ModuleType, ModuleType]:
    """By thriftpy2, and from the table."""
    path, name = str(FOLDER / f"{file}.thrift"), f"both_{file}_thrift"
    return parsed(path, name), module_of(json.loads(Path(table_path(path)).read_text()), name, path)


def without_text(value: object) -> dict[str, object]:
    return {name: found for name, found in vars(value).items() if name not in OF_THE_TEXT | OF_PYTHON}


def shown(value: Any, module: ModuleType) -> Any:
    """Classes of the module as their names."""
    if isinstance(value, type):
        assert vars(module)[value.__name__] is value
        return value.__name__
    if isinstance(value, dict):
        return [(key, shown(one, module)) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return type(value)(shown(one, module) for one in value)
    return value


def same(one: type, other: type, modules: tuple[ModuleType, ModuleType]) -> None:
    assert [base.__name__ for base in one.__mro__] == [base.__name__ for base in other.__mro__]
    mine, theirs = without_text(one), without_text(other)
    inner = {name for name, value in mine.items() if isinstance(value, type)}
    for name in inner:
        same(mine.pop(name), theirs.pop(name), modules)  # type: ignore[arg-type]
    assert mine.keys() == theirs.keys()
    for name in mine:
        assert shown(mine[name], modules[0]) == shown(theirs[name], modules[1]), (one, name)


@pytest.mark.parametrize("file", TABLES)
def test_a_table_gives_what_thriftpy2_reads(file: str) -> None:
    modules = read_both(file)
    first, second = map(without_text, modules)
    assert first.keys() == second.keys()
    meta = [one.pop("__thrift_meta__") for one in (first, second)]
    for kind in ("enums", "structs", "unions", "exceptions", "services"):
        assert [one.__name__ for one in meta[0].get(kind, ())] == [one.__name__ for one in meta[1][kind]]
    for name, value in first.items():
        if isinstance(value, type):
            same(value, second[name], modules)  # type: ignore[arg-type]
        else:
            assert (name, value) == (name, second[name])


def structs(module: ModuleType) -> Iterator[Any]:
    for service in module.__thrift_meta__["services"]:
        for method in service.thrift_services:
            yield getattr(service, f"{method}_args")
            yield getattr(service, f"{method}_result")
    for kind in ("structs", "unions", "exceptions"):
        yield from module.__thrift_meta__[kind]


@pytest.mark.parametrize("file", TABLES)
def test_a_struct_is_made_and_goes_over_the_wire_as_thriftpy2s(file: str) -> None:
    by_thriftpy2, from_table = (list(structs(module)) for module in read_both(file))
    for one, other in zip(by_thriftpy2, from_table, strict=True):
        names = [name for name, _ in one.default_spec]
        for value in (one, other):
            assert vars(value()) == dict(one.default_spec)  # the first one of its kind, which is made with its __init__
            assert list(vars(value(*range(len(names)))).values()) == list(range(len(names)))
            with pytest.raises(TypeError, match="unexpected keyword argument 'unknown'"):
                value(unknown=1)
        sent = [written(value) for value in (one, other)]
        assert sent[0] == sent[1]


def written(struct: Any) -> bytes:
    """With a value in each field whose kind is a number of Thrift's alone."""
    values: dict[int, Any] = {2: True, 3: 3, 4: 0.5, 6: 6, 8: 8, 10: 10, 11: "text", 18: b"bytes"}
    given = {name: values.get(kind) for kind, name, *_ in struct.thrift_spec.values()}
    buffer = TMemoryBuffer()
    TBinaryProtocol(buffer).write_struct(struct(**given))
    read = struct()
    TBinaryProtocol(TMemoryBuffer(buffer.getvalue())).read_struct(read)
    assert vars(read) == {**dict(struct.default_spec), **{name: one for name, one in given.items() if one is not None}}
    return bytes(buffer.getvalue())


@pytest.mark.parametrize("file", TABLES)
def test_tables_are_of_the_files_as_they_are(file: str) -> None:
    found = Path(table_path(str(FOLDER / f"{file}.thrift"))).read_text()
    assert found == table_text(file), "make interfaces"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for ending in ("thrift", "json"):
        shutil.copy(FOLDER / f"hbase2.{ending}", tmp_path)
    return tmp_path / "hbase2.thrift"


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that thriftpy2 reads."""
    read: list[str] = []

    def noted(path: str, name: str) -> ModuleType:
        read.append(path)
        return parsed(path, name)

    monkeypatch.setattr(interface_files, "parsed", noted)
    return read


def test_of_a_table_thriftpy2_reads_nothing(copied: Path, parses: list[str]) -> None:
    loaded: Any = load_interface(str(copied), "from_a_table_thrift")
    assert loaded.TGet(row=b"r").row == b"r"
    assert load_interface(str(copied), "from_a_table_thrift") is loaded
    error = loaded.TIOError(message="lost")
    assert pickle.loads(pickle.dumps(error)).message == "lost"
    assert parses == []


def test_of_another_text_or_without_a_table_the_file_is_read(copied: Path, parses: list[str]) -> None:
    text = copied.read_text()
    assert text.count("  1: required binary row,") >= 1
    copied.write_text(text.replace("  1: required binary row,", "  1: required binary rows,", 1))
    changed: Any = load_interface(str(copied), "of_another_text_thrift")
    assert any("rows" in dict(one.default_spec) for one in changed.__thrift_meta__["structs"])
    copied.write_text(text)
    copied.with_suffix(".json").unlink()
    without: Any = load_interface(str(copied), "without_a_table_thrift")
    assert without.TGet(row=b"r").row == b"r"
    assert parses == [str(copied)] * 2
