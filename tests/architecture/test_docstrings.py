"""A docstring says first what the thing is or does.

One that begins with a question word ("What is kept of one server.") makes its reader look for the subject. "Whether" is
plain for a boolean, and says nothing of a module or a class. "Of the last failure." leaves the subject to the name
above it: fine below an attribute, hard to read in a function. So does a class of which only parameters are explained.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.architecture.product_trees import product_files, product_tree

A_FEW = 60
"""Functions and classes that leave their subject out. Above this number, rewrite those that say least."""
QUESTION = re.compile(r"(What|Where|Which|Who|Whom|Whose|How|Why|When)\b")


class Docstring(NamedTuple):
    """A docstring and its owner's kind; the texts below constants and attributes have their statement's."""

    owner: type[ast.AST]
    text: str
    place: str = ""

    def shown(self) -> str:
        return self.place + self.text.split("\n")[0]


def docstrings(tree: ast.Module, place: str = "") -> Iterator[Docstring]:
    for owner in ast.walk(tree):
        for statements in (part for _, part in ast.iter_fields(owner) if isinstance(part, list)):
            for statement in statements:
                said = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(said, ast.Constant) and isinstance(said.value, str):
                    kind = type(owner) if statement is statements[0] else ast.Expr
                    yield Docstring(kind, said.value.strip(), place)


@cache
def of_the_product() -> list[Docstring]:
    return [one for path in product_files() for one in docstrings(product_tree(path), f"{path}: ")]


def is_riddle(one: Docstring) -> bool:
    names_a_thing = issubclass(one.owner, ast.Module | ast.ClassDef)
    return QUESTION.match(one.text) is not None or (names_a_thing and one.text.startswith("Whether "))


def has_no_subject(one: Docstring) -> bool:
    is_class = issubclass(one.owner, ast.ClassDef)
    has_a_name = is_class or issubclass(one.owner, ast.FunctionDef | ast.AsyncFunctionDef)
    return (has_a_name and one.text.startswith("Of ")) or (is_class and one.text.startswith("`"))


def test_no_docstring_is_a_riddle() -> None:
    found = [one.shown() for one in of_the_product() if is_riddle(one)]
    assert not found, "begin with the thing that is meant, or with what is done:\n" + "\n".join(found)


def test_few_functions_and_classes_leave_their_subject_out() -> None:
    found = [one.shown() for one in of_the_product() if has_no_subject(one)]
    assert len(found) <= A_FEW, "\n".join(found)


def test_a_riddle_is_found() -> None:
    text = '''"""How late the hub is."""

LIMIT = 5
"""What may wait."""
MOST = 6
"""Of those that wait."""

class Known:
    """What is known of one role."""

    room: int = 0
    """When it was filled."""

    def late(self):
        """Whether it is late."""

    async def where(self):
        """
        Where it lies.
        """

class Seen:
    """Whether it was seen."""

class Plain:
    """The state of one role, and what it says."""
'''
    assert sorted(one.shown() for one in docstrings(ast.parse(text)) if is_riddle(one)) == [
        "How late the hub is.",
        "What is known of one role.",
        "What may wait.",
        "When it was filled.",
        "Where it lies.",
        "Whether it was seen.",
    ]


def test_a_missing_subject_is_found() -> None:
    text = '''class Known:
    last: int
    """Of the last failure."""

    def reason(self):
        """Of the first failure."""

class Seen:
    """`limit`: failures."""

    def forget(self, most):
        """`most`: failures."""
'''
    assert sorted(one.shown() for one in docstrings(ast.parse(text)) if has_no_subject(one)) == [
        "Of the first failure.",
        "`limit`: failures.",
    ]
