"""Random filter texts: trees of all filters, with everyday, random and costly patterns."""

import random

from tests.harness import java_patterns

_OPERATORS = (b"<", b"<=", b"=", b"!=", b">", b">=")


def costly_pattern(rng: random.Random) -> str:
    """Made to take long: automata that meet new states to the end of a text, counted repetitions inside and beside each
    other, backtracking, large sets."""
    times = rng.choice((20, 60, 150, 300, 700, 1000))
    if rng.random() < 0.4:
        return rng.choice(
            (
                f"[ab]*a[ab]{{{times}}}c",
                f"a[ab]{{{times}}}[cd]",
                f"(x?a?){{0,{times}}}(b?a?){{0,{times}}}c",
                f"(a?){{0,{times}}}(a?){{0,{times}}}c",
                f"(.*a.{{{times}}}){{2}}c",
            )
        )
    atom = rng.choice(("a?", "[ab]?", "x?a?", "(a|ab)", "a*", r"\pL", "[à-ÿ]", "(a+)+", "(.*)", r"\w*", "(a|a)*"))
    count = rng.choice(("*", "+", "{200}", f"{{0,{times}}}"))
    core = "".join(f"({atom}){count}" for _ in range(rng.choice((1, 1, 2, 3, 40))))
    return rng.choice((f"{core}c", f"(?={core}$)b", f"^(?!{core}z)a", f"{core}\\1c", f"({core})++c"))


def pattern(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.35:
        return costly_pattern(rng)
    return rng.choice(java_patterns.everyday()) if kind < 0.6 else java_patterns.pattern(rng)


def comparison(rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.6:
        return rng.choice((b"=", b"!=")) + b",'regexstring:" + _quoted(pattern(rng)) + b"'"
    if kind < 0.75:
        return rng.choice((b"=", b"!=")) + b",'substring:" + _quoted(rng.choice(("a", "ab", "É", "k", "aab"))) + b"'"
    value = _quoted(rng.choice(("", "a", "r3", "q1", "ab")))
    return rng.choice(_OPERATORS) + b",'" + rng.choice((b"binary:", b"binaryprefix:")) + value + b"'"


_SOURCES = (
    "size(row) > 1",
    "'s' in present && s.contains('a')",
    "s.matches('{pattern}')",
    "s.matches('{pattern}') || size(b) > 10",
    "size(s + s + s) > 300 && s + s > s",
    "j.a > 1 || has(j.b)",
    "b < b'ab' ? size(b) > 3 : s != ''",
    "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, [1, 2, 3, 4, 5, 6, 7, 8, 9].exists(y, s.contains(string(x * y))))",
    "1 / (size(s) - 1) > 0",
)


def cel(rng: random.Random) -> bytes:
    """Over cells of which few are what a variable reads them as, and with patterns of RE2, some of them costly."""
    source = rng.choice(_SOURCES).replace("{pattern}", rng.choice(("a+b", "(a?){0,500}(a?){0,500}b", "^.*c$")))
    variables = (
        ("s string f:q0", "b bytes f:q1", "j json f:q2") if "j." in source else ("s string f:q0", "b bytes f:q1")
    )
    first, name = ("'f:q1', ", "CelProjectionFilter") if rng.random() < 0.3 else ("", "CelFilter")
    return f"{name}({first}{', '.join(_in_quotes(text) for text in (source, *variables))})".encode()


def _in_quotes(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def leaf(rng: random.Random, has_cel: bool = True) -> bytes:
    compared = comparison(rng)
    return rng.choice(
        (
            b"ValueFilter(%b)" % compared,
            b"ValueFilter(%b)" % compared,
            b"RowFilter(%b)" % compared,
            b"QualifierFilter(%b)" % compared,
            b"FamilyFilter(%b)" % compared,
            b"SingleColumnValueFilter('f','q1',%b,%b,%b)"
            % (compared, rng.choice((b"true", b"false")), rng.choice((b"true", b"false"))),
            b"ColumnValueFilter('f','q0',%b)" % compared,
            b"DependentColumnFilter('f','q0',false,%b)" % compared,
            b"KeyOnlyFilter()",
            b"FirstKeyOnlyFilter()",
            b"PageFilter(%d)" % rng.randrange(9),
            b"PrefixFilter('r%d')" % rng.randrange(4),
            b"ColumnPaginationFilter(%d,%d)" % (rng.randrange(4), rng.randrange(3)),
            b"MultipleColumnPrefixFilter('q0','q2')",
            *([cel(rng)] if has_cel else []),
        )
    )


def tree(rng: random.Random, depth: int = 2, has_cel: bool = True) -> bytes:
    """In an OR, as below SKIP, an expression is refused beside most others: there are seldom any."""
    kind = rng.random()
    if kind < 0.3 and depth == 2:
        return b"ValueFilter(=,'regexstring:%b')" % _quoted(costly_pattern(rng))
    if kind < 0.6 or not depth:
        return leaf(rng, has_cel)
    if kind < 0.7:
        return rng.choice((b"SKIP ", b"WHILE ")) + b"(" + tree(rng, depth - 1, has_cel) + b")"
    word = rng.choice((b" AND ", b" OR "))
    has_cel = has_cel and (word == b" AND " or rng.random() < 0.05)
    members = rng.choice((2, 2, 3, 3, 300 if depth == 2 else 4))
    return b"(" + word.join(tree(rng, 0 if members > 4 else depth - 1, has_cel) for _ in range(members)) + b")"


def _quoted(text: str) -> bytes:
    return text.encode().replace(b"'", b"''")
