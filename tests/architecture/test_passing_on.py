"""Few functions only pass their arguments on to one other call: a reader follows each of them for nothing. Calls
between roles need none (docs/decisions/0024-calls-are-declared-once.md)."""

import ast
from collections.abc import Iterator

from tests.architecture.product_trees import product_files, product_tree

AT_MOST = 140
"""Ports and facades need some. Above this number, look for one declaration, or one base class, that does it."""


def passing_on(tree: ast.Module) -> Iterator[str]:
    """The names of functions whose body is one call of a method with the function's own arguments, in their order."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and (call := _only_call(function)) is not None:
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if isinstance(call.func, ast.Attribute) and [_name(one) for one in given] == _parameters(function):
                yield function.name


def _only_call(function: ast.FunctionDef) -> ast.Call | None:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    only = body[0] if len(body) == 1 else None
    called = only.value if isinstance(only, ast.Return | ast.Expr) else None
    return called if isinstance(called, ast.Call) else None


def _name(given: ast.expr) -> str:
    inside = given.value if isinstance(given, ast.Starred) else given
    return inside.id if isinstance(inside, ast.Name) else ""


def _parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg) if one]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def test_few_functions_only_pass_on() -> None:
    found = {path: list(passing_on(product_tree(path))) for path in product_files()}
    lines = [f"{path}: {', '.join(names)}" for path, names in found.items() if names]
    assert sum(map(len, found.values())) <= AT_MOST, "\n".join(lines)


def test_a_function_that_only_passes_on_is_found() -> None:
    text = '''
class Facade:
    def move(self, name, server=""):
        """Moves it."""
        return self._moves.move(name, server)

    def close(self):
        self._inner.close()

    def every(self, *names, **more):
        self._inner.every(*names, **more)

    def other_way_round(self, first, second):
        return self._inner.call(second, first)

    def adds(self, number):
        return self._inner.add(number + 1)

    def makes(self, number):
        return Other(number)
'''
    assert list(passing_on(ast.parse(text))) == ["move", "close", "every"]
