"""A bound that many share, and that makes room by letting the oldest go, is a way to push others out: who asks for very
much takes from those who ask for little. Each such place is written down here with what keeps one client from that, or
why nobody loses more than time.

Such a place is recognised by what lets the first of an ordered collection go, or forgets it by its size.
"""

import ast

from tests.architecture.product_trees import PRODUCT, product_files, product_tree

OLDEST_GOES = {
    "access/password_checks.py": "a right password is computed again; each user has as many as he has passwords",
    "access/tries.py": "10,000 that failed; an address, cut to a try in two seconds, cannot bring as many",
    "commitlog/segments/sync_timeout.py": "times at which this process itself left segments of its log",
    "commitlog/recovery/recovered_edits.py": "a file is read again; clients bring none",
    "filters/cel/program.py": "an expression is compiled again",
    "filters/java_regex/re2_text.py": "a pattern is translated again",
    "filters/part_search.py": "a pattern is compiled again",
    "filters/patterns.py": "a pattern is compiled again",
    "fs/known_files.py": "what this process itself deleted is looked up again",
    "hbase/calls/scanners.py": "those alone whose hour is over",
    "hbase/calls/scanner_shares.py": "whoever holds most loses one",
    "hbase/slow.py": "the latest slow requests, whosever; the log and the counters have the others",
    "launch/cycle_collector.py": "measurements of this process itself",
    "master/tablets/pace.py": "measurements of this process itself",
    "runtime/hub_lag.py": "measurements of this process itself",
    "runtime/memory_budget.py": "pages made ahead, which are made again when they are asked for",
    "runtime/processes/worker_turns.py": "goes by time alone, when nothing is owed any more; others push none out",
    "sstable/cache.py": "a block is read again; scans of everything do not reach the protected part",
    "tabletserver/served_tablets.py": "a master is told everything instead of the changes",
}


def lets_the_oldest_go(node: ast.AST) -> bool:
    """`x.popitem(last=False)`, `next(iter(self.x))` or of a part of something, `deque(maxlen=)`, `lru_cache(n)`."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    keywords = {keyword.arg for keyword in node.keywords}
    if name == "next" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        inner = node.args[0]
        return getattr(inner.func, "id", "") == "iter" and isinstance(inner.args[0], ast.Attribute)
    return (
        (name == "popitem" and "last" in keywords)
        or (name == "deque" and "maxlen" in keywords)
        or (name == "lru_cache" and bool(node.args or node.keywords))
    )


def test_each_bound_from_which_the_oldest_goes_is_known() -> None:
    found = {
        str(path.relative_to(PRODUCT))
        for path in product_files()
        if not {PRODUCT / "testing", PRODUCT / "shell"} & set(path.parents)
        if any(map(lets_the_oldest_go, ast.walk(product_tree(path))))
    }
    assert found == OLDEST_GOES.keys(), (
        "somebody lets the oldest of many go: say here what keeps one client from pushing all others out, "
        "as hbase/calls/scanner_shares.py does"
    )


def test_the_shapes_are_seen() -> None:
    for text in ("d.popitem(last=False)", "self.x(next(iter(self._open)))", "deque(maxlen=3)", "lru_cache(3)"):
        assert any(map(lets_the_oldest_go, ast.walk(ast.parse(text)))), text
    for text in ("d.popitem()", "next(iter(found))", "next(iter(self._a), None)", "deque()", "lru_cache()"):
        assert not any(map(lets_the_oldest_go, ast.walk(ast.parse(text)))), text
