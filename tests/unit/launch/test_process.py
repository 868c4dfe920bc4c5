"""What a serving process asks of its interpreter."""

import subprocess
import sys

from tests.harness.commands import LONG_SECONDS

PROGRAM = """
import gc
from hbtable.launch.process import prepare
before = gc.get_freeze_count()
prepare()
assert gc.isenabled()
assert gc.get_threshold()[0] >= 10_000, gc.get_threshold()
assert gc.get_freeze_count() > before + 10_000, gc.get_freeze_count()
"""


def test_the_collector_leaves_alone_what_was_imported_and_still_runs() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=LONG_SECONDS)


IMPORTS = """
import gc, sys
from hbtable.__main__ import main
sys.argv = ["hbtable", "version"]
try:
    main()
except SystemExit as ended:
    assert not ended.code
before = [one["collections"] for one in gc.get_stats()]
import hbtable.launch.serve
assert [one["collections"] for one in gc.get_stats()] == before
assert gc.isenabled()
"""


def test_the_collector_does_not_look_at_what_a_command_imports() -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], check=True, timeout=LONG_SECONDS)
