"""The arguments that splits() and the frames of engines share have one declaration, and so have their packages."""

import configparser
import inspect
import re
from collections import defaultdict

from hbtable.dataflow.splits import RowsOfSplits, splits
from hbtable.library.table import Table
from tests.harness.commands import ROOT


def test_the_rows_of_splits_are_arguments_of_splits_and_of_to_arrow() -> None:
    taken = inspect.signature(splits).parameters
    for name, type in RowsOfSplits.__annotations__.items():
        assert splits.__annotations__[name] == type, name
        assert (taken[name].kind, taken[name].default) == (inspect.Parameter.KEYWORD_ONLY, None)
        assert name in inspect.signature(Table.to_arrow).parameters


def test_extras_ask_for_one_version_of_a_package() -> None:
    """Those of the tests, too, which would try another one than users get; a test that needs one version names it."""
    setup = configparser.ConfigParser()
    setup.read(f"{ROOT}/setup.cfg")
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for extra in setup["options.extras_require"].values():
        for line in extra.splitlines():
            if found := re.match(r"([\w-]+)(\[.*\])?(.*)", line.strip()):
                asked[found[1]].add(found[3])
    several = {
        name: versions for name, versions in asked.items() if len({one for one in versions if one[:2] != "=="}) > 1
    }
    assert several == {}
