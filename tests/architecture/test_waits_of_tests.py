"""Tests wait for states, by `eventually`, and hold nothing to a few seconds: the machine may stand still for as many.

What measures is marked `alone`, and by then it looks at medians.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tests", "compat-tests", "cluster-tests")
TESTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py"))
HARNESS = sorted((ROOT / "tests" / "harness").glob("*.py"))
CLOCKS = {"monotonic", "perf_counter", "time"}
READS_TIME = re.compile(r"\btime\s*\.\s*(sleep|monotonic|perf_counter|time)\b")
FEW_SECONDS = 20
WAITS = re.compile(r"\b(eventually\(|timeout=|(process|running)\.wait\()")
LONG_ENOUGH = 60
"""Seconds, for what only has to come; SOON_SECONDS says it best."""
PROGRAM_SECONDS = 240
"""For a program that is to end by itself: it starts, which a busy machine takes a minute for, and has work to do.
LONG_SECONDS says it best."""
OWN_LIMITS = {"tests/integration/test_waiting.py": "tests of `eventually` itself"}
"""Files whose waits end sooner."""
SLEEPS = {
    "tests/integration/test_waiting.py": "somebody who stands still while he is asked",
    "tests/integration/test_large_answers.py": "a client that is slow on purpose",
    "tests/integration/test_scanners_live_on.py": "a scanner that nobody uses for a while; more than that is noticed",
    "tests/integration/test_shadow.py": "the time between two reports",
    "tests/integration/test_transfer.py": "looks for a file every few milliseconds, and tries again when it was late",
    "cluster-tests/test_requests_counted.py": "how long requests are counted",
    "cluster-tests/test_zombies.py": "how long a zombie stands still",
    "cluster-tests/test_zookeeper_away.py": "how long ZooKeeper is away",
}
"""Tests that sleep, and what for: none of them until something has happened."""


def sleeps(tree: ast.Module) -> list[int]:
    """Lines that call time.sleep."""
    return [
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep"
    ]


def few_seconds(tree: ast.Module) -> Iterator[int]:
    """Lines of a test that fail when a clock says that something took more than a few seconds."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assert):
            continue
        for one in ast.walk(node.test):
            if isinstance(one, ast.Compare) and _is_at_most_few(one) and _reads_a_clock(one.left):
                yield node.lineno


def _is_at_most_few(compared: ast.Compare) -> bool:
    limit = compared.comparators[0]
    number = limit.value if isinstance(limit, ast.Constant) else None
    return isinstance(compared.ops[0], ast.Lt | ast.LtE) and isinstance(number, int | float) and number < FEW_SECONDS


def _reads_a_clock(node: ast.expr) -> bool:
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in CLOCKS
        and isinstance(one.func.value, ast.Name)
        and one.func.value.id == "time"
        for one in ast.walk(node)
    )


def short_limits(tree: ast.Module) -> Iterator[int]:
    """Lines that wait for a few seconds at most: a machine that is slow and busy needs more."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            limits = [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
            if ast.unparse(node.func) == "eventually":
                limits += node.args[1:2]
            if any(_is_short(limit) for limit in limits):
                yield node.lineno


def _is_short(limit: ast.expr, enough: float = LONG_ENOUGH) -> bool:
    return isinstance(limit, ast.Constant) and isinstance(limit.value, int | float) and limit.value < enough


def hurried_programs(tree: ast.Module) -> Iterator[int]:
    """Lines that give a program less than PROGRAM_SECONDS until it ends."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of, name = ast.unparse(node.func.value), node.func.attr
        limits = [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
        if name == "wait" and of.endswith(("process", "running")):
            limits += node.args[:1]
        elif name != "communicate" and of != "subprocess":
            continue
        if any(_is_short(limit, PROGRAM_SECONDS) for limit in limits):
            yield node.lineno


def test_what_only_has_to_come_has_its_time() -> None:
    short = {}
    for path in TESTS:
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        if WAITS.search(text) and name not in OWN_LIMITS and (lines := list(short_limits(ast.parse(text)))):
            short[name] = lines
    assert short == {}, "wait for SOON_SECONDS: what comes sooner costs nothing"


def test_programs_have_time_to_end() -> None:
    """`hbtable user` had sixty seconds and took more in CI, beside four others."""
    hurried = {}
    for path in [*TESTS, *HARNESS]:
        text = path.read_text(encoding="utf-8")
        if WAITS.search(text) and (lines := list(hurried_programs(ast.parse(text)))):
            hurried[str(path.relative_to(ROOT))] = lines
    assert hurried == {}, "wait for LONG_SECONDS: what ends sooner costs nothing"


def test_tests_wait_for_states() -> None:
    slept, measured = {}, {}
    for path in TESTS:
        text = path.read_text(encoding="utf-8")
        if not READS_TIME.search(text):  # most files need not be parsed
            continue
        name, tree = str(path.relative_to(ROOT)), ast.parse(text)
        if name not in SLEEPS and (lines := sleeps(tree)):
            slept[name] = lines
        if lines := list(few_seconds(tree)):
            measured[name] = lines
    assert slept == {}, "wait for a state with tests.harness.waiting.eventually"
    assert measured == {}, "the machine may stand still for so long: assert the state, print the time"


def test_every_test_that_may_sleep_does() -> None:
    for name in SLEEPS:
        assert sleeps(ast.parse((ROOT / name).read_text(encoding="utf-8"))), f"take {name} off the list"


def test_it_would_be_found() -> None:
    assert list(short_limits(ast.parse("eventually(lambda: done, 30, 'it')\nrun(a, timeout=5.0)\n"))) == [1, 2]
    assert list(short_limits(ast.parse("eventually(lambda: done, 60, 'it')\nrun(a, timeout=SOON_SECONDS)\n"))) == []
    hurried = (
        "subprocess.run(a, timeout=60)\nrunning.wait(60)\nserver.process.wait(timeout=60)\none.communicate(timeout=9)\n"
    )
    assert list(hurried_programs(ast.parse(hurried))) == [1, 2, 3, 4]
    unhurried = "subprocess.run(a, timeout=LONG_SECONDS)\nrunning.wait(LONG_SECONDS)\nevent.wait(60)\nrun(timeout=60)\n"
    assert list(hurried_programs(ast.parse(unhurried))) == []
    assert sleeps(ast.parse("import time\ntime.sleep(1)\nruntime.sleep(2)\n")) == [2]
    assert list(few_seconds(ast.parse("assert time.monotonic() - began < 1.5\n"))) == [1]
    assert list(few_seconds(ast.parse("assert 0 <= runtime.clock_seconds() - began < 1.5\n"))) == []
    assert list(few_seconds(ast.parse("assert time.monotonic() - began < SOON_SECONDS\n"))) == []
