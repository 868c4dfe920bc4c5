"""hbtable.open() in a program under gevent's monkey.patch_all(), whenever the patches came."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS

pytestmark = pytest.mark.integration

PATCH = "from gevent import monkey; monkey.patch_all()\n"
IMPORT = "import sys, hbtable\n"
OPEN = (
    "database = hbtable.open(sys.argv[1])\ntable = database.create_table('t', ['f'])\ntable.put(b'r', {b'f:q': b'v'})\n"
)
WORK = """
import gevent, threading

def put(name):
    for number in range(20):
        table.put(b'%s%d' % (name, number), {b'f:q': b'v'})

tasks = [gevent.spawn(put, b'greenlet%d' % number) for number in range(4)]
threads = [threading.Thread(target=put, args=(b'thread%d' % number,)) for number in range(4)]
for thread in threads:
    thread.start()
gevent.joinall(tasks, raise_error=True)
for thread in threads:
    thread.join()
pool = gevent.get_hub().threadpool
pool.apply(put, (b'pool',))
assert len(list(table.scan())) == 181, len(list(table.scan()))
database.flush_table('t')
"""
CLOSE = """
database.close()
database.close()
with hbtable.open(sys.argv[1]) as again:
    assert again.table('t').row(b'r') == {b'f:q': b'v'}
print('done')
"""
PROGRAMS = {
    "never patched": IMPORT + OPEN + WORK + CLOSE,
    "patched before the import": PATCH + IMPORT + OPEN + WORK + CLOSE,
    "patched before the open": IMPORT + PATCH + OPEN + WORK + CLOSE,
    "patched after the open": IMPORT + OPEN + PATCH + WORK + CLOSE,
    "closed without work": PATCH + IMPORT + OPEN + CLOSE,
}


@pytest.mark.parametrize("when", PROGRAMS)
def test_the_patches_change_nothing(when: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAMS[when], str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_other_greenlets_go_on_during_a_call(tmp_path: Path) -> None:
    """A call waits for the disk: not one greenlet of the program may wait with it."""
    program = (
        PATCH
        + IMPORT
        + OPEN
        + """
import gevent
from hbtable.runtime.threads import portal

steps = []
tick = gevent.spawn(lambda: [steps.append(gevent.sleep(0)) for _ in range(10)])

def slow():
    while len(steps) < 10:  # in the hub's thread: returns when the program's own greenlets went on
        gevent.sleep(0.001)
    return 'went on'

assert database._portal.call(slow) == 'went on'
killed = gevent.spawn(database._portal.call, gevent.sleep, 0.05)
gevent.sleep(0)
killed.kill()
assert table.row(b'r') == {b'f:q': b'v'}
"""
        + CLOSE
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
