"""happybase 1.3.0's own test suite, from its sdist, against a running server.

Two defects of its harness are worked round and nothing else is touched: it uses nose's assert_raises without importing
it, and passes the port from the environment on as text. With compat 0.90 the client itself refuses one test. Over
hbtable's own library one line is changed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.harness.sources import unpacked

_PLUGIN: Final = "import builtins\n\nimport pytest\n\nbuiltins.assert_raises = pytest.raises\n"
CONNECTS: Final = "import happybase\nimport hbtable\n\nhappybase.Connection = hbtable.connect\n"
"""The suite's connections are hbtable.connect()'s, but those of its tests of pools."""
OPENS: Final = """\
import happybase
import hbtable


def connection(host=None, table_prefix=None, **arguments):
    if host is None:
        return hbtable.connect(table_prefix=table_prefix, **arguments)
    database = hbtable.open("opened", durability="os")
    database.table_prefix = table_prefix
    database.compat = arguments["compat"]
    return database


happybase.Connection = connection
"""
"""What the suite's tests share is a database of hbtable.open()."""
_NO_ROWS: Final = "assert {} == table.rows([])"
"""The library says [] (docs/library.md)."""
_REFUSED_BY_THE_CLIENT: Final = {"0.90": "test_scan_filter_and_batch_size"}


def passes(address: tuple[str, int], folder: Path, compat: str, transport: str, library: str = "") -> None:
    """AssertionError with the suite's output when it does not pass. `folder`: an empty one. `library`: CONNECTS, OPENS,
    lines of ways_in, or happybase itself."""
    suite = unpacked("happybase==1.3.0", folder)
    host, port = address
    test_file = suite / "tests" / "test_api.py"
    text = test_file.read_text()
    changed = re.sub(r"os\.environ\.get\(.HAPPYBASE_PORT.\)", str(port), text)
    assert changed != text
    if library in (CONNECTS, OPENS):
        assert _NO_ROWS in changed
        changed = changed.replace(_NO_ROWS, "assert [] == table.rows([])")
    test_file.write_text(changed)
    (suite / "tests" / "assert_raises_plugin.py").write_text(_PLUGIN + library)
    environment = {
        **os.environ,
        "HAPPYBASE_HOST": host,
        "HAPPYBASE_COMPAT": compat,
        "HAPPYBASE_TRANSPORT": transport,
        "PYTHONPATH": str(suite / "tests"),
    }
    command = [sys.executable, "-m", "pytest", "-p", "assert_raises_plugin", "-c", os.devnull, "--rootdir", str(suite)]
    run = subprocess.run(
        [*command, "-q", str(suite / "tests")], env=environment, cwd=suite, capture_output=True, text=True, timeout=600
    )
    summary = run.stdout.strip().splitlines()[-1]
    failed = re.findall(r"^FAILED \S+::(\w+)", run.stdout, re.MULTILINE)
    expected = [_REFUSED_BY_THE_CLIENT[compat]] if compat in _REFUSED_BY_THE_CLIENT else []
    assert failed == expected, run.stdout[-6000:]
    assert f"{27 - len(expected)} passed" in summary, summary
