"""Errors cross process boundaries: multiprocessing and pytest-xdist pickle them."""

import inspect
import pickle
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

import hbtable
from hbtable.errors import HbtableError
from tests.harness.commands import LONG_SECONDS, ROOT

for module in ("hbtable.sstable.reader", "hbtable.tablet.compactions.compaction", "hbtable.hbase.errors"):
    import_module(module)


def subclasses(kind: type[HbtableError]) -> Iterator[type[HbtableError]]:
    yield kind
    for derived in kind.__subclasses__():
        yield from subclasses(derived)


def example(kind: type[HbtableError]) -> HbtableError:
    """With an argument of its own for each parameter, as far as its type is simple."""
    values = {"int": 7, "bytes": b"k", "bool": True, bool: True, int: 7, bytes: b"k"}
    signature = inspect.signature(kind.__init__)
    named = [each for each in list(signature.parameters.values())[1:] if each.kind is not each.VAR_KEYWORD]
    if any(each.kind is each.VAR_POSITIONAL for each in named):
        return kind("why")
    pair = (b"a", b"b")
    return kind(*(pair if "tuple" in str(each.annotation) else values.get(each.annotation, "x") for each in named))


@pytest.mark.parametrize("kind", sorted(set(subclasses(HbtableError)), key=lambda kind: kind.__name__))
def test_every_error_survives_pickling(kind: type[HbtableError]) -> None:
    error = example(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_every_error_is_exported() -> None:
    there = {kind for kind in subclasses(HbtableError) if kind.__module__ == "hbtable.errors"}
    assert len(there) > 20
    assert {kind.__name__ for kind in there} - set(hbtable.__all__) == set()
    assert all(getattr(hbtable, kind.__name__) is kind for kind in there)


def test_every_exported_name_is_there() -> None:
    assert [name for name in hbtable.__all__ if getattr(hbtable, name, None) is None] == []


def test_the_module_of_the_errors_needs_no_import_of_its_own() -> None:
    program = "import hbtable\nassert hbtable.errors.TableNotFound is hbtable.TableNotFound"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=LONG_SECONDS)
