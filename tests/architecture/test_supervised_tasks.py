"""A task that lives as long as its process is supervised: if it died of a bug, nobody would notice otherwise. Such a
task is recognised by its loop: `while` around a sleep or a wait. The deaths of all others are counted, unless somebody
waits for what they find.
"""

import ast

import pytest

from tests.architecture.product_trees import PRODUCT, product_files, product_tree

WAITS = {"sleep", "wait"}
SOURCES = [path for path in product_files() if PRODUCT / "testing" not in path.parents]
HEARD = {
    "runtime/supervision.py": "counts them",
    "runtime/parallel.py": "raises what a job died of in the task that asked for it",
    "tabletserver/tablet_locks.py": "raises it in the task that asked for the tablet",
    "fs/blocking_calls.py": "raises it in the task that made the call",
}
"""Files that may begin a task by spawn(), and what becomes of its errors."""

THREADS = {
    "runtime/threads/native_threads.py": "makes those of others",
    "runtime/threads/workers.py": "raises what a job died of in the task that asked for it",
    "runtime/threads/portal.py": "raises what a call died of in the thread that made it",
    "runtime/processes/conversation.py": "ends a worker process, which its pool replaces",
    "runtime/processes/parent_death.py": "ends the process, whose parent is told, or ended",
    "lockservice/zookeeper/keeper.py": "counts it and goes on; the lease ends if it comes again and again",
    "lockservice/zookeeper/watches.py": "counts it and goes on",
    "lockservice/zookeeper/connection.py": "ends the client of a session that is over",
    "launch/servers/server_process.py": "stops beating, so that the launcher ends the process",
    "launch/log_lines.py": "counts the lines that are lost by it",
    "launch/closing.py": "raises it in the thread that closes",
    "shell/shadow/proxy.py": "ends the connection of one client",
    "shell/shadow/repeating.py": "tells it, leaves the call out and goes on",
    "launch/roles/watchdog.py": "ends the process",
}
"""Files that begin threads, and what becomes of a bug in one."""


def spawned(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Methods handed to spawn() or spawn_counted(), by the name of class and method."""
    found = []
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
        for call in (node for node in ast.walk(cls) if isinstance(node, ast.Call)):
            target = spawns(call)
            if isinstance(target, ast.Attribute) and target.attr in methods:
                found.append((f"{cls.name}.{target.attr}", methods[target.attr]))
    return found


def spawns(call: ast.Call) -> ast.expr | None:
    """What this call runs as a task."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "spawn" and call.args:
        return call.args[0]
    if isinstance(call.func, ast.Name) and call.func.id == "spawn_counted":
        return call.args[1]
    return None


def lives_on(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in WAITS
        for loop in ast.walk(function)
        if isinstance(loop, ast.While)
        for inner in ast.walk(loop)
    )


def unsupervised(tree: ast.Module) -> list[str]:
    return [name for name, function in spawned(tree) if lives_on(function)]


def uncounted(tree: ast.Module) -> bool:
    """Whether a task is begun by spawn()."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "spawn" for call in calls)


def test_every_task_that_lives_on_is_supervised() -> None:
    assert {name: path.name for path in SOURCES for name in unsupervised(product_tree(path))} == {}


def test_the_deaths_of_all_others_are_counted() -> None:
    assert {str(path.relative_to(PRODUCT)) for path in SOURCES if uncounted(product_tree(path))} == set(HEARD)


def supervised_once(tree: ast.Module) -> list[str]:
    """Functions that do one piece of work, and are handed to supervise(). Who begins them begins them again: after a
    death there would be two, and more with each."""
    found = []
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if not (isinstance(call.func, ast.Name) and call.func.id == "supervise" and len(call.args) > 1):
            continue
        target = call.args[1]
        if isinstance(target, ast.Lambda) and isinstance(target.body, ast.Call):
            target = target.body.func
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name in functions and not any(waits(node) for node in ast.walk(functions[name])):
            found.append(name)
    return found


def waits(node: ast.AST) -> bool:
    """A loop, or a wait for what happens once in a process' life."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "wait"
    return isinstance(node, ast.While)


def test_what_is_supervised_lives_on() -> None:
    assert {str(path): names for path in SOURCES if (names := supervised_once(product_tree(path)))} == {}


@pytest.mark.parametrize("target", ["self._work", "lambda: self._work(names)"])
def test_work_that_is_supervised_and_ends_is_found(target: str) -> None:
    text = f"""
class Work:
    def begin(self):
        supervise(self.runtime, {target}, name="work")

    def _work(self, names=()):
        self.look()
"""
    assert supervised_once(ast.parse(text)) == ["_work"]
    assert supervised_once(ast.parse(text.replace("self.look()", "while True: self.runtime.sleep(1.0)"))) == []


def begins_a_thread(tree: ast.Module) -> bool:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {
        function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "") for function in calls
    }
    return bool(names & {"Thread", "NativeThread", "start_new_thread"})


def test_it_is_known_what_becomes_of_a_bug_in_a_thread() -> None:
    assert {str(path.relative_to(PRODUCT)) for path in SOURCES if begins_a_thread(product_tree(path))} == set(THREADS)
    assert begins_a_thread(ast.parse("threading.Thread(target=work).start()"))
    assert not begins_a_thread(ast.parse("thread = threading.current_thread()"))


@pytest.mark.parametrize("waiting", ["self.runtime.sleep(1.0)", "self.wake.wait()"])
def test_one_that_is_not_is_found(waiting: str) -> None:
    text = f"""
class Work:
    def start(self):
        self.runtime.spawn(self._live, name="work")

    def _live(self):
        while True:
            {waiting}
"""
    assert unsupervised(ast.parse(text)) == ["Work._live"]
    assert uncounted(ast.parse(text))
    counted = ast.parse(text.replace("self.runtime.spawn(self._live", "spawn_counted(self.runtime, self._live"))
    assert unsupervised(counted) == ["Work._live"]
    assert not uncounted(counted)
    supervised = ast.parse(text.replace("self.runtime.spawn(self._live", "supervise(self.runtime, self._live"))
    assert unsupervised(supervised) == []
