"""java.util.regex as an oracle for patterns, and patterns for it: everyday ones, and random ones of all the grammar."""

import base64
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.harness.commands import LONG_SECONDS

SOURCE = Path(__file__).with_name("JavaPatterns.java")

EVERYDAY = r"""
abc|^abc|abc$|^abc$|^$|a.c|a.*c|a.+?c|a?b*c+|a{2}|a{2,}|a{2,3}|(abc)+|(?:abc)+d|[abc]|[^abc]|[a-z]+|[a-zA-Z0-9_]+
^[0-9]+$|\d+|\d{3}-\d{4}|\w+@\w+\.com|[\w-\._]|[\w\-.]+|[\w.-]+@[\w.-]+|^\s*$|\S+|\bfoo\b|foo\B|\.html$|https?://.*
[a-z&&[^b]]|[[a-c]]|[a-c[x-z]]|[^a-c[x-z]]|[a-z&&b]|[a-z&&[def]]|[a-z&&[^m-p]]|\0101|\x41|\u0041|\x{41}|\t|\n|\e
(?i)abc|(?i:abc)d|(?-s)a.b|(?s)a.b|(?m)^b$|(?d)a$|(?im)^B|a(?i)b|c|(?<name>a)\k<name>|(a)\1|(a|b)\1|(.)(.)\2\1
(?=a)b|(?=a)a|(?!a)b|(?<=a)b|(?<!a)b|foo(?=bar)|foo(?!bar)|(?<=foo)bar|(?<!foo)bar|^(?!.*foo).*$|^(?=.*a)(?=.*b).*$
a*+b|a++a|a?+a|(?>a*)a|(?>a|ab)c|a{2,3}+a|\Qa.b\E|\Q[\E+|\Qa|b|[\Q^a\E]|\p{Alpha}+|\p{Upper}|\P{Digit}|\p{L}+|\pL|\p{Lu}
\p{IsLatin}|\p{IsGreek}|\p{script=Han}|\p{IsAlphabetic}|[\p{L}\d]|[^\p{L}]|[\p{L}&&[^\p{Lu}]]|\p{Punct}
[\p{Punct}&&[^.]]
\h|\H|\v|\V|\R|\A|\z|\Z|a\Z|a\z|\Ga|\cA|[\cA]|[]a]|[^]a]|[a-]|[-a]|[a\-z]|[a^]|[&]|[a&]|[&&a]|[a&&]|[a-c&&]|[a&&&b]
*a|+a|?a|a**|a+*|a{|{|{1}|{2}a|a{1|a{1,|a{,2}|a{2,1}|}|a}|]|a]|(|)|(a|a)|[|[a|[]|[^]|\|(?|(?a)|(?<a|(?<1>a)
(?<n>a)(?<n>b)
\1|\2(a)|(a)\2|(a)\10|\k<x>|(?i)(a)\1|\8|\y|\g|\i|\x4|\u004|\0|\08|\07|\077|\0377|\0477|\x{110000}|\x{}|\c|\p|\p{
\p{Foo}
a|b||(|a)|(a|)|(||)|a||b|^*a|$*|a^|$a|^^a|a$$|(^a)|(a$)|(a$|b)|(a$)b|a$\n|a\b|\b|\B|(?:)|()|(?:a|b)*c|((a)|b)*c
(a*)*b|(a*)+|(a+)+b
.*|.+|.|\..|[.]|[*+?]|[(){}]|[|]|[$^]|[\]]|[\[]|[\\]|\\|\/|/|\-|\_|\"|"|'|,|=|!|<|>|:|;|#|%|@|~|`|\ |[ ]
user_\d+|row-[0-9a-f]{8}|^(GET|POST) /.*|^\d{4}-\d{2}-\d{2}|(19|20)\d\d|[+-]?\d+(\.\d+)?|^[^@]+@[^@]+$|\.(jpg|png
gif)$|^com\.cnn\.|^.{3}$
(?i)[a-z]+|(?i)[^a-z]|(?i)\x61|(?i)[\x61-\x63]|(?i)\p{Lower}|(?i)\p{Lu}|(?i)[k-s]|(?i)k|(?i)é|(?u)a|(?x)a b|(?U)\w|\X
\b{g}|\N{LATIN SMALL LETTER A}
[a-c&&b-d]|[a-c&&[b-d]e]|[a&&b&&c]|[a-z&&[a-m]&&[^b]]|[^a&&b]|[^a-c&&b-d]|[[^a]b]|[^[^a]]|[^[a]]|[a[^a]]|[a-c[^b]&&c]
[a-z&&[^b]c]|[ab&&[bc]d]
[\w&&[^\d]]|[\d-z]|[a-\d]|[\w-z]|[z-a]|[a-a]|[\t-\r]|[\x00-\x1f]|[^\x00-\x7f]|[\u0400-\u04ff]+|[é]|é|[à-ü]|☃|[☃]|😀
[😀]|[😀-😂]|\ud83d\ude00|\x{1f600}
[\v-x]|[\b]|[\A]|[\1]|[\k]|[\R]|[\h]|[\Q]\E]|[\Qa-c\E]|\E|\Qab\E*|\Q\E|\Q\Ea|\Q\\E|a\Qb\E?
"""

TEXTS = (
    "", "a", "b", "abc", "ABC", "aabbcc", "a\n", "a\r\n", "a\r", "a\u2028", "a\x85", "\n", "\r\n", "a\nb",
    "a\nb\n", "b\na", "a\r\nb", "abc\n", "abc\r\n", "abcd", "foo bar", "foobar", "foo", "bar", "x.y-z_w", "a.b",
    "a-b", "a b", "a\tb", "é", "aé", "éa", "É", "ab\u0301", "\u0301a", "привет", "日本", "😀", "a😀", "123",
    "555-1234", "user_17", "2026-11-22", "row-0123abcd", "x@y.com", "GET /index.html", "pic.jpg", "com.cnn.www",
    "[", "]", "^", "&", "-", "\\", "{", "}", "(", "|", "*", "A", "AA", "aa", "aaa", "aaaa", "aab", "abab",
    "abba", "K", "\u212a", "ſ", "s", "_", ".", " ", "\x01", "\x0b", "\x1b", "z", "m", "q", "d", "def", "\ufffd",
    "\xa0", "b\r\n", "c\n", "\r", "a\r\n\n", "a\n\n",
)  # fmt: skip


def everyday() -> list[str]:
    """Each by itself and, as it stands, each line: alternatives of them all."""
    lines = [line for line in EVERYDAY.splitlines() if line]
    return [*(one for line in lines for one in line.split("|")), *lines]


def texts(rng: random.Random, count: int) -> list[str]:
    made = ["".join(rng.choices("aAbBc1_-. \n\r&é\u0301k", k=rng.randrange(1, 9))) for _ in range(count // 2)]
    return rng.sample(TEXTS, count - len(made)) + made


def pattern(rng: random.Random, depth: int = 3) -> str:
    """A random pattern; one in a few is malformed."""
    if rng.random() < 0.04:
        return "".join(rng.choices(r"ab()[]{}*+?|^$\.-&12,<>=!:iQEpLdwb", k=rng.randrange(1, 8)))
    return "|".join(_sequence(rng, depth) for _ in range(rng.choices((1, 2, 3), (8, 3, 1))[0]))


def _sequence(rng: random.Random, depth: int) -> str:
    return "".join(
        _atom(rng, depth) + _repetition(rng) for _ in range(rng.choices((0, 1, 2, 3, 4), (1, 6, 6, 4, 2))[0])
    )


def _repetition(rng: random.Random) -> str:
    if rng.random() < 0.7:
        return ""
    return rng.choice(("*", "+", "?", "{2}", "{1,2}", "{0,}", "{0}")) + rng.choices(("", "?", "+"), (6, 2, 2))[0]


def _atom(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if kind < 0.45 or depth == 0:
        return rng.choice(
            (*"aAbBc1_k-&é. ", r"\.", r"\n", r"\x61", r"\0101", r"\u0062", r"\-", r"\Qa.\E", "\n", "}", "]")
        )
    if kind < 0.6:
        return rng.choice(
            (
                r"\w",
                r"\W",
                r"\d",
                r"\D",
                r"\s",
                r"\S",
                r"\h",
                r"\v",
                r"\R",
                r"\p{L}",
                r"\p{Upper}",
                r"\P{Lu}",
                r"\p{Alnum}",
            )
        )
    if kind < 0.72:
        return rng.choice(("^", "$", r"\b", r"\B", r"\A", r"\Z", r"\z", r"\G"))
    if kind < 0.86:
        return _class(rng, 2)
    start = rng.choice(
        ("(", "(", "(?:", "(?i:", "(?m:", "(?-s:", "(?d:", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i)(", "(?m)(")
    )
    if start in ("(?<=", "(?<!"):
        return f"{start}{rng.choice(('a', 'ab', 'a|bc', 'a?', '[ab]', '^', chr(10)))})"
    inner = "|".join(_sequence(rng, depth - 1) for _ in range(rng.choices((1, 2), (3, 1))[0]))
    return f"{start}{inner})" + (rng.choice(("", "", r"\1")) if start == "(" else "")


def _class(rng: random.Random, depth: int) -> str:
    parts = []
    for _ in range(rng.randrange(1, 5)):
        kind = rng.random()
        if kind < 0.4:
            parts.append(rng.choice((*"aAbBc1_k-&é.^ ", r"\-", r"\]", r"\n", r"\.")))
        elif kind < 0.65:
            parts.append(rng.choice(("a-c", "A-C", "0-9", "b-z", "a-a", r"\x61-\x63", "à-ü", r"!-\/", "z-a")))
        elif kind < 0.8:
            parts.append(rng.choice((r"\w", r"\W", r"\d", r"\s", r"\p{L}", r"\P{Lu}", r"\p{Punct}", r"\h")))
        elif depth:
            parts.append(rng.choice(("", "&&")) + _class(rng, depth - 1))
        else:
            parts.append("&&" + rng.choice(("a", "b-d", r"\w")))
    return f"[{rng.choice(('', '', '^'))}{''.join(parts)}]"


def available() -> bool:
    return shutil.which("java") is not None and shutil.which("javac") is not None


def java_answers(cases: Sequence[tuple[str, Sequence[str]]], folder: Path) -> list[str]:
    """For each (pattern, texts) what JavaPatterns.java says. `folder` takes the compiled class."""
    subprocess.run(["javac", "-d", str(folder), str(SOURCE)], check=True, timeout=LONG_SECONDS)
    lines = (" ".join(_encoded(text) for text in (one, *searched)) for one, searched in cases)
    done = subprocess.run(
        ["java", "-cp", str(folder), "JavaPatterns"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return done.stdout.splitlines()


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
