"""A docstring says first what the thing is or does.

One that begins with a question word ("What is kept of one server.") makes its reader look for the subject. "Whether" is
plain for a boolean, and says nothing of a module or a class. "Of the last failure." leaves the subject to the name
above it: fine below an attribute, hard to read in a function.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PRODUCT = Path(__file__).parents[2] / "hbtable"
A_FEW = 30
"""Functions and classes whose docstring begins with "Of". Above this number, rewrite those that say least."""
QUESTION = re.compile(r"(What|Where|Which|Who|Whom|Whose|How|Why|When)\b")


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Of modules, classes and functions, and the texts below constants and attributes; each with its owner."""
    for owner in ast.walk(tree):
        for statements in (part for _, part in ast.iter_fields(owner) if isinstance(part, list)):
            for statement in statements:
                said = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(said, ast.Constant) and isinstance(said.value, str):
                    yield owner if statement is statements[0] else statement, said.value.strip()


def riddles(text: str) -> Iterator[str]:
    for owner, said in docstrings(ast.parse(text)):
        names_a_thing = isinstance(owner, ast.Module | ast.ClassDef)
        if QUESTION.match(said) or (names_a_thing and said.startswith("Whether ")):
            yield said.split("\n")[0]


def without_subject(text: str) -> Iterator[str]:
    for owner, said in docstrings(ast.parse(text)):
        if said.startswith("Of ") and isinstance(owner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield said.split("\n")[0]


def test_few_functions_leave_their_subject_out() -> None:
    paths = sorted(PRODUCT.rglob("*.py"))
    found = [f"{path}: {said}" for path in paths for said in without_subject(path.read_text(encoding="utf-8"))]
    assert len(found) <= A_FEW, "\n".join(found)


def test_no_docstring_is_a_riddle() -> None:
    paths = sorted(PRODUCT.rglob("*.py"))
    found = [f"{path}: {said}" for path in paths for said in riddles(path.read_text(encoding="utf-8"))]
    assert not found, "begin with the thing that is meant, or with what is done:\n" + "\n".join(found)


def test_a_riddle_is_found() -> None:
    text = '''"""How late the hub is."""

LIMIT = 5
"""What may wait."""

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
    assert sorted(riddles(text)) == [
        "How late the hub is.",
        "What is known of one role.",
        "What may wait.",
        "When it was filled.",
        "Where it lies.",
        "Whether it was seen.",
    ]


def test_a_function_without_a_subject_is_found() -> None:
    text = '''class Known:
    last: int
    """Of the last failure."""

    def reason(self):
        """Of the first failure."""
'''
    assert list(without_subject(text)) == ["Of the first failure."]
