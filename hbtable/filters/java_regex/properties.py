r"""\p{...}: POSIX classes and general categories as RE2 knows them, the rest by the names of the engine `regex`."""

from typing import Final

from hbtable.filters.java_regex import charset
from hbtable.filters.java_regex.charset import CharSet, Property, negation, of, of_text, union
from hbtable.filters.java_regex.source import PatternSource

_LOWER: Final = of((ord("a"), ord("z")))
_UPPER: Final = of((ord("A"), ord("Z")))
_ALPHA: Final = union(_LOWER, _UPPER)
_POSIX: Final = {
    "ASCII": of((0, 0x7F)),
    "Alnum": union(_ALPHA, charset.DIGITS),
    "Alpha": _ALPHA,
    "Blank": of_text(" \t"),
    "Cntrl": of((0, 0x1F), (0x7F, 0x7F)),
    "Digit": charset.DIGITS,
    "Graph": of((0x21, 0x7E)),
    "Lower": _LOWER,
    "Print": of((0x20, 0x7E)),
    "Punct": of((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "Space": charset.SPACE,
    "Upper": _UPPER,
    "XDigit": of((ord("0"), ord("9")), (ord("a"), ord("f")), (ord("A"), ord("F"))),
    "L1": of((0, 0xFF)),
    "all": charset.ALL,
}
_RE2_CATEGORIES: Final = frozenset(
    (
        "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Me", "Mc", "N", "Nd", "Nl", "No", "Z", "Zs", "Zl", "Zp",
        "Cc", "Cf", "Co", "P", "Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "S", "Sm", "Sc", "Sk", "So",
    )
)  # fmt: skip
_OTHER_CATEGORIES: Final = frozenset(("C", "Cn"))
_JOINED: Final = {"LC": ("Lu", "Ll", "Lt"), "LD": ("L", "Nd")}
_CASED: Final = frozenset(("Lu", "Ll", "Lt"))
# Binary properties after "Is", and methods of java.lang.Character after "java", by their names in `regex`.
_BINARY: Final = {
    "ALPHABETIC": "Alphabetic", "LETTER": "L", "IDEOGRAPHIC": "Ideographic", "LOWERCASE": "Lowercase",
    "UPPERCASE": "Uppercase", "TITLECASE": "Lt", "WHITE_SPACE": "White_Space", "CONTROL": "Cc", "PUNCTUATION": "P",
    "HEX_DIGIT": "Hex_Digit", "ASSIGNED": "Assigned", "NONCHARACTER_CODE_POINT": "Noncharacter_Code_Point",
    "DIGIT": "Nd", "JOIN_CONTROL": "Join_Control",
}  # fmt: skip
_METHODS: Final = {
    "javaLowerCase": "Lowercase", "javaUpperCase": "Uppercase", "javaAlphabetic": "Alphabetic",
    "javaIdeographic": "Ideographic", "javaTitleCase": "Lt", "javaDigit": "Nd", "javaDefined": "Assigned",
    "javaLetter": "L", "javaSpaceChar": "Z", "javaISOControl": "Cc",
}  # fmt: skip

_OTHER_METHODS: Final = frozenset(
    [
        "javaMirrored",
        "javaWhitespace",
        "javaIdentifierIgnorable",
        "javaJavaIdentifierStart",
        "javaJavaIdentifierPart",
        "javaUnicodeIdentifierStart",
        "javaUnicodeIdentifierPart",
    ]
)
"""Those that Java has and hbtable has not."""


def read_property(source: PatternSource, negated: bool) -> CharSet:
    r"""The rest of \p or \P."""
    if source.takes("{"):
        name = ""
        while (char := source.take()) != "}":
            if not char:
                raise source.error("Unclosed character family")
            name += char
        if not name:
            raise source.error("Empty character family")
    else:
        name = source.take()
    found = _named(source, name)
    return negation(found) if negated else found


def _named(source: PatternSource, name: str) -> CharSet:
    any_case = source.flags.case_insensitive
    if name in _POSIX:
        return _ALPHA if any_case and name in ("Lower", "Upper") else _POSIX[name]
    key, equals, value = name.partition("=")
    if equals:
        return _by_key(source, key.lower(), value)
    category = name[2:] if name.startswith("Is") else name
    if category in _JOINED or category in _RE2_CATEGORIES or category in _OTHER_CATEGORIES:
        return _category(category, any_case)
    if name.startswith("Is"):
        if category.upper() in _BINARY:
            return _binary(_BINARY[category.upper()], any_case)
        return _engine(f"Script={category}")
    if name.startswith("In"):
        return _engine(f"Block={name[2:]}")
    if name in _METHODS:
        return _binary(_METHODS[name], any_case)
    if name == "javaLetterOrDigit":
        return _category("LD", any_case)
    if name in _OTHER_METHODS:
        raise source.unsupported(f"the property {name}")
    raise source.error(f"Unknown character property name {{{name}}}")


def _by_key(source: PatternSource, key: str, value: str) -> CharSet:
    if key in ("gc", "general_category"):
        if value in _JOINED or value in _RE2_CATEGORIES or value in _OTHER_CATEGORIES:
            return _category(value, source.flags.case_insensitive)
    elif key in ("sc", "script"):
        return _engine(f"Script={value}")
    elif key in ("blk", "block"):
        return _engine(f"Block={value}")
    raise source.error(f"Unknown Unicode property {{{key}={value}}}")


def _category(name: str, any_case: bool) -> CharSet:
    if any_case and name in _CASED:
        name = "LC"
    names = _JOINED.get(name, (name,))
    return CharSet(properties=tuple(Property(one, one if one in _RE2_CATEGORIES else "") for one in names))


def _binary(name: str, any_case: bool) -> CharSet:
    if any_case and name in ("Lowercase", "Uppercase"):
        return CharSet(properties=(Property("Lowercase"), Property("Uppercase"), Property("Lt", "Lt")))
    if name == "Assigned":
        return CharSet(properties=(Property("Cn", negated=True),))
    return CharSet(properties=(Property(name, name if name in _RE2_CATEGORIES else ""),))


def _engine(name: str) -> CharSet:
    """A property that only the engine can tell whether it exists."""
    return CharSet(properties=(Property(name),))
