"""Names that a reader of HBase or LevelDB guesses right (docs/glossary.md): words that were given up stay out, and a
public class is found by its name alone."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

from tests.architecture.product_trees import product_files, product_tree

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("hbtable", "tests", "cluster-tests", ".ci")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

INSTEAD = {
    "bell": "waker",
    "buried": "expired",
    "bury": "expire (a server), retire (a tablet)",
    "census": "server reports",
    "complain": "warn",
    "complaints": "log limiter",
    "door": "gateway",
    "doors": "gateways",
    "lifeline": "watchdog",
    "patience": "retry policy, retries, timeout",
    "patient": "timeout",
    "residence": "online tablets",
    "sentence": "message, reason",
    "sentences": "messages",
    "switch": "toggle; a switch is one of tasks",
    "switched": "toggled; a switch is one of tasks",
    "switches": "toggles; a switch is one of tasks",
    "switching": "failover; a switch is one of tasks",
    "traffic": "connection context",
    "twin": "fake",
    "twins": "fakes",
    "upkeep": "reconciler",
}
"""Words that are no part of a name any more, and what is said instead."""

KEPT = {
    "metadata_patience_seconds": "a key of the configuration",
    "census_seconds": "a key of the configuration",
    "patience_seconds": "a key of the configuration, and those beside it",
    "door": "a key of the server file",
    "balance_switch": "HBase's command; a call between roles",
    "compaction_switch": "HBase's command",
    "normalizer_switch": "HBase's command; a call between roles",
    "splitormerge_switch": "HBase's command",
    "adminBalanceSwitch": "a call on the wire",
    "adminCompactionSwitch": "a call on the wire",
    "adminNormalizerSwitch": "a call on the wire",
    "adminSwitch": "a call on the wire",
    "switch_compactions": "a call between roles",
    "SwitchedOff": "an error on the wire",
    "switch": "greenlet's own; a call between roles",
    "switches": "of tasks, and the module of HBase's command",
    "switches_if_given": "of tasks",
    "_SWITCH_SECONDS": "between threads",
}
"""Names that have one of them all the same, and why. Of `switch` only those of tasks and threads are to be added."""

NAMESAKES: dict[str, str] = {
    "Split": "a job's is of hbtable.dataflow, and engines call it so; the tablet server's is a chore",
    "Table": "a program knows that of hbtable.library alone, which stands on client's",
}
"""Public classes of the same name in two packages, and why that misleads nobody."""


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _given_up(name: str) -> list[str]:
    if name in KEPT or name.startswith("test_"):
        return []
    return [f"{name}: say {INSTEAD[word]}" for word in _words(name) if word in INSTEAD]


def test_words_that_were_given_up_stay_out_of_names() -> None:
    found = {str(path.relative_to(ROOT)): words for path in FILES if (words := _given_up_in(path))}
    assert found == {}


def _given_up_in(path: Path) -> list[str]:
    """A file is read word by word only where its text has one of them, in a comment say."""
    text = path.read_text(encoding="utf-8")
    stem = path.stem.removeprefix("test_")
    names = {stem}
    if any(map(_given_up, set(re.findall(r"\w+", text)))):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        names |= {token.string for token in tokens if token.type == tokenize.NAME}
    return [wrong for name in sorted(names) for wrong in _given_up(name)]


def test_a_word_that_was_given_up_is_found() -> None:
    assert _given_up("FrontDoorOptions") == ["FrontDoorOptions: say gateway"]
    assert _given_up("last_sentence") == ["last_sentence: say message, reason"]
    assert not _given_up("metadata_patience_seconds")


def test_every_exception_is_needed() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES if path != Path(__file__))
    assert not [name for name in KEPT if not re.search(rf"\b{name}\b", text)]


def test_a_public_class_has_its_name_for_itself() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in product_files():
        for node in product_tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(ROOT)))
    twice = {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in NAMESAKES} == {}, "say of what it is one"
    assert set(NAMESAKES) <= set(twice), "take it off the list"
