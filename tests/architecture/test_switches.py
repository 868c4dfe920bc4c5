"""@switches is where it has to be, as far as names tell; simulations find more (testing/simulated/stack_check.py).

A call is known to switch when it is of a marked method of the same object, of a marked function of the same module, or
of a method of another object whose name only marked functions of the program have. Names that built-in objects have as
well, or that say little, tell nothing.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.architecture.product_trees import PRODUCT, product_files, product_tree

BUILT_IN = {name for kind in (dict, list, set, bytes, str, bytearray, memoryview, tuple, int) for name in dir(kind)}
ELSEWHERE = {"acquire", "call", "close", "connect", "join", "log", "open", "options", "read", "recv", "request"} | (
    {"apply", "round", "run", "send", "sleep", "start", "stop", "wait", "write"}
)
"""Names of standard library's or other libraries' functions, or of functions of the program that only look alike."""


class Function(NamedTuple):
    module: str
    owner: str
    """Its class, "" without one."""
    node: ast.FunctionDef

    @property
    def marked(self) -> bool:
        """Also the calls between roles, whose mark says that and more (rpc/declaration.py). Not what switches only if
        its arguments do (@switches_if_given): its callers need no mark, and itself it may not call what switches."""
        marks = (mark.func if isinstance(mark, ast.Call) else mark for mark in self.node.decorator_list)
        return any(isinstance(mark, ast.Name) and mark.id in ("switches", "call") for mark in marks)

    def __str__(self) -> str:
        return f"{self.module}: {self.owner + '.' if self.owner else ''}{self.node.name}"


def functions(module: str, tree: ast.Module) -> Iterator[Function]:
    """Those inside of functions have the mark of whoever calls them."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield Function(module, "", node)
        if isinstance(node, ast.ClassDef):
            yield from (Function(module, node.name, inner) for inner in node.body if isinstance(inner, ast.FunctionDef))


def calls(function: ast.FunctionDef) -> Iterator[tuple[str, bool, bool]]:
    """Name, whether of self, whether of the module. What is called by functions inside, is called by others."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, isinstance(node.func.value, ast.Name) and node.func.value.id == "self", False
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, False, True
        left.extend(ast.iter_child_nodes(node))


def unmarked_callers(everything: Iterable[Function]) -> list[str]:
    known = list(everything)
    by_name = defaultdict(list)
    for function in known:
        by_name[function.node.name].append(function.marked)
    sure = {name for name, marks in by_name.items() if all(marks) and not name.startswith("_")}
    sure -= BUILT_IN | ELSEWHERE
    of_class = {(each.module, each.owner, each.node.name) for each in known if each.marked}
    found = []
    for function in known:
        if function.marked:
            continue
        for name, own, of_module in calls(function.node):
            owner = "" if of_module else function.owner if own else None
            if (function.module, owner, name) in of_class or (not of_module and name in sure):
                found.append(f"{function} calls {name}")
    return found


def test_whoever_calls_a_marked_function_is_marked() -> None:
    paths = [path for path in product_files() if "testing" not in path.relative_to(PRODUCT).parts]
    everything = [each for path in paths for each in functions(str(path.relative_to(PRODUCT)), product_tree(path))]
    assert unmarked_callers(everything) == []


def test_a_function_whose_docstring_says_so_is_marked() -> None:
    said = []
    for path in product_files():
        for function in functions(str(path.relative_to(PRODUCT)), product_tree(path)):
            if docstring_says_so(function.node) and not function.marked:
                said.append(str(function))
    assert said == []


def docstring_says_so(function: ast.FunctionDef) -> bool:
    return re.search(r"\*Switches\b|\bmay switch\b", ast.get_docstring(function) or "") is not None


def test_a_call_of_a_method_of_a_function_and_of_a_name_that_is_always_marked_are_found() -> None:
    text = """
class File:
    @switches
    def sync(self): ...

    @switches
    def _write_out(self): ...

    def append(self, data):
        self._write_out()

@switches
def pause(): ...

def careless(file):
    file.sync()
    pause()

def handed_on(file):
    return lambda: file.sync()

@switches_if_given
def passes_on(call):
    call()
    pause()

def hands_over_what_does_not_switch():
    passes_on(print)
"""
    assert sorted(unmarked_callers(functions("m.py", ast.parse(text)))) == [
        "m.py: File.append calls _write_out",
        "m.py: careless calls pause",
        "m.py: careless calls sync",
        "m.py: passes_on calls pause",
    ]
