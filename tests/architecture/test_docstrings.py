"""A docstring of a module or a public class says first what the thing is or does.

One that begins with a question word ("What is kept of one server.") makes its reader look for the subject.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PRODUCT = Path(__file__).parents[2] / "hbtable"
A_FEW = 10
"""Now and then it is the plainest way to say something. Above this number, rewrite those that say least."""


def riddles(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    public = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for node in (tree, *public):
        said = ast.get_docstring(node) or ""
        if re.match(r"(What|How|Where|Who|Whose|Why|Whether)\b", said):
            yield said.split("\n")[0]


def test_modules_and_public_classes_are_no_riddles() -> None:
    found = [f"{path}: {said}" for path in sorted(PRODUCT.rglob("*.py")) for said in riddles(path.read_text())]
    assert len(found) <= A_FEW, "\n".join(found)


def test_a_riddle_is_found() -> None:
    text = '''"""How late the hub is."""

class Known:
    """What is known of one role."""

class _Own:
    """What only this module sees."""

class Plain:
    """The state of one role."""
'''
    assert list(riddles(text)) == ["How late the hub is.", "What is known of one role."]
