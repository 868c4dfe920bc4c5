"""Processes that compute for this one: what one does, however it ends, costs its own call only."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest

from hbtable.runtime.gevent_runtime import GeventOptions, GeventRuntime
from hbtable.runtime.interface import JobFailed, WorkerDied
from hbtable.runtime.processes import worker_process
from hbtable.runtime.processes.worker_main import NICE
from hbtable.runtime.processes.worker_process import WorkerProcess
from tests.harness import jobs
from tests.harness.commands import LONG_SECONDS
from tests.harness.waiting import SOON_SECONDS, eventually, runs


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime(GeventOptions(processes=2))
    yield runtime
    runtime.close()


def _process(runtime: GeventRuntime) -> int:
    return int(runtime.run_in_process("test", jobs.process, [], 30.0)[0])


def test_what_goes_there_comes_back_and_the_process_is_kept(runtime: GeventRuntime) -> None:
    assert runtime.run_in_process("test", jobs.echo, PARTS, 30.0) == PARTS
    assert runtime.run_in_process("test", jobs.echo, [], 30.0) == []
    first = _process(runtime)
    assert first != os.getpid()
    assert _process(runtime) == first


def test_a_worker_gives_way_to_the_server_and_is_not_interrupted_at_its_terminal(runtime: GeventRuntime) -> None:
    """Linux shares the processors out among sessions before it looks who is niced in one of them."""
    worker = _process(runtime)
    assert os.getpriority(os.PRIO_PROCESS, worker) == min(os.getpriority(os.PRIO_PROCESS, 0) + NICE, 19)
    assert os.getsid(worker) == os.getsid(0)
    assert os.getpgid(worker) == worker


def test_a_server_that_is_older_than_the_installed_hbtable_waits_for_no_worker(monkeypatch) -> None:
    """Its calls have no checksums, for which the worker would wait, and it for the worker."""
    older = worker_process._START.replace(", int(arguments[3])", "")
    assert older != worker_process._START
    monkeypatch.setattr(worker_process, "_START", older)
    with pytest.raises(WorkerDied, match="ended before it answered"):
        WorkerProcess(1 << 30).kill()


PARTS = [b"", b"a", bytes(range(256)) * 20_000]


@pytest.mark.parametrize("byte", [4, 40, 5_000_000, -1])
def test_what_changes_on_the_way_there_is_not_worked_on(runtime: GeventRuntime, monkeypatch, byte: int) -> None:
    """A byte of the lengths, of the job's name, of a part, of the checksum."""
    write = WorkerProcess._write

    def changing(self: WorkerProcess, pieces: Sequence[bytes]) -> None:
        whole = bytearray(b"".join(pieces))
        whole[byte] ^= 1
        write(self, [bytes(whole) + bytes(10)])  # as long as any part may be taken for now

    with monkeypatch.context() as patched:
        patched.setattr(WorkerProcess, "_write", changing)
        with pytest.raises(WorkerDied, match=r"ended before it"):
            runtime.run_in_process("test", jobs.echo, PARTS, 30.0)
    assert runtime.run_in_process("test", jobs.echo, PARTS, 30.0) == PARTS


@pytest.mark.parametrize("turn", [5, 6, 7])
def test_what_changes_on_the_way_back_is_no_answer(runtime: GeventRuntime, monkeypatch, turn: int) -> None:
    """A byte of a short part, of a long one, of the checksum."""
    read = WorkerProcess._read
    lengths = iter([1, 1, 4, 24, 0, 1, len(PARTS[2]), 4])
    seen: list[int] = []

    def changing(self: WorkerProcess, length: int) -> bytes:
        data = read(self, length)
        assert length == next(lengths)
        seen.append(length)
        return bytes([data[0] ^ 1]) + data[1:] if len(seen) - 1 == turn else data

    runtime.run_in_process("test", jobs.echo, PARTS, 30.0)
    with monkeypatch.context() as patched:
        patched.setattr(WorkerProcess, "_read", changing)
        with pytest.raises(WorkerDied, match="the answer arrived changed"):
            runtime.run_in_process("test", jobs.echo, PARTS, 30.0)
    assert runtime.run_in_process("test", jobs.echo, PARTS, 30.0) == PARTS


def test_it_is_nicer_than_we_are(runtime: GeventRuntime) -> None:
    assert int(runtime.run_in_process("test", jobs.process, [], 30.0)[1]) >= min(19, os.nice(0) + 10)


def test_the_hub_goes_on_and_an_endless_loop_is_killed(runtime: GeventRuntime) -> None:
    before = _process(runtime)
    steps: list[int] = []

    def step() -> None:
        while True:
            runtime.sleep(0.001)
            steps.append(1)

    task = runtime.spawn(step)
    with pytest.raises(WorkerDied, match=r"took more than 0.2 s"):
        runtime.run_in_process("test", jobs.spin, [], 0.2)
    task.kill()
    assert len(steps) > 3
    assert not runs(before)
    assert _process(runtime) != before


@pytest.mark.parametrize(
    ("job", "reason"), [(jobs.crash, "ended before it answered"), (jobs.eat, "needed more than .* bytes of memory")]
)
def test_a_crash_and_too_much_memory_cost_one_call(runtime: GeventRuntime, job, reason) -> None:
    with pytest.raises(WorkerDied, match=reason):
        runtime.run_in_process("test", job, [b"x"], 30.0)
    assert runtime.run_in_process("test", jobs.echo, [b"x"], 30.0) == [b"x"]


def test_an_error_of_the_job_is_told(runtime: GeventRuntime) -> None:
    before = _process(runtime)
    with pytest.raises(JobFailed, match=r"fail failed in a worker process: ValueError: no use for \[b'x'\]"):
        runtime.run_in_process("test", jobs.fail, [b"x"], 30.0)
    assert _process(runtime) == before


def test_what_a_library_prints_is_no_answer(runtime: GeventRuntime) -> None:
    assert runtime.run_in_process("test", jobs.talk, [], 30.0) == [b"said"]


def test_one_that_ended_while_it_was_idle_is_replaced(runtime: GeventRuntime) -> None:
    before = _process(runtime)
    os.kill(before, signal.SIGKILL)
    after = _process(runtime)
    assert after != before


def test_no_more_processes_than_allowed_and_all_calls_are_answered(runtime: GeventRuntime) -> None:
    found: set[int] = set()
    tasks = [runtime.spawn(lambda: found.add(_process(runtime))) for _ in range(8)]
    for task in tasks:
        assert task.join(60.0)
        assert task.error is None
    assert 1 <= len(found) <= 2


def test_a_closed_runtime_leaves_none_behind_even_if_it_computes() -> None:
    runtime = GeventRuntime()
    process = _process(runtime)
    task = runtime.spawn(runtime.run_in_process, "test", jobs.spin, [], 600.0)
    runtime.sleep(0)
    runtime.close()
    assert task.join(60.0)
    assert isinstance(task.error, WorkerDied)
    assert not runs(process)


def test_without_a_python_to_start_the_call_says_so(runtime: GeventRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(WorkerDied, match=r"could not be started: .*nowhere"):
        _process(runtime)


@pytest.mark.parametrize(("executable", "frozen"), [("/bin/echo", False), (sys.executable, True), ("", False)])
def test_a_program_that_is_no_python_is_not_started_again(
    runtime: GeventRuntime, monkeypatch: pytest.MonkeyPatch, executable: str, frozen: bool
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    with pytest.raises(WorkerDied, match=r"could not be started: this program does not say which Python runs it"):
        _process(runtime)


PARENT = """
import sys
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness import jobs
runtime = GeventRuntime()
print(runtime.run_in_process("test", jobs.process, [], 30.0)[0].decode(), flush=True)
{then}
"""


@pytest.mark.parametrize(
    "then",
    [
        'runtime.spawn(runtime.run_in_process, "test", jobs.spin, [], 600.0); runtime.sleep(0.01); sys.stdin.read()',
        "sys.stdin.read()",
    ],
)
def test_a_worker_ends_with_its_parent_busy_or_idle(then: str) -> None:
    command = [sys.executable, "-c", PARENT.format(then=then)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert runs(worker)
        parent.kill()
    eventually(lambda: not runs(worker), SOON_SECONDS, f"the end of process {worker}")


PATCHED = """
from gevent import monkey; monkey.patch_all()
import sys, gevent
from hbtable.runtime.threads.portal import Portal
from hbtable.runtime.interface import WorkerDied
from tests.harness import jobs
portal = Portal()
def call(job, seconds):
    return portal.runtime.run_in_process("test", job, [b"x"], seconds)
steps = []
def tick():
    while True:
        gevent.sleep(0.001)
        steps.append(1)
gevent.spawn(tick)
assert portal.call(call, jobs.echo, 30.0) == [b"x"]
try:
    portal.call(call, jobs.spin, 0.1)
except WorkerDied:
    print("killed", len(steps) > 3)
assert portal.call(call, jobs.echo, 30.0) == [b"x"]
portal.close()
"""


def test_in_a_program_under_gevents_patches() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PATCHED], capture_output=True, text=True, timeout=LONG_SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (0, "killed True\n"), done.stderr
