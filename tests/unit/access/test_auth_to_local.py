"""Rules that make users of principals, by the examples of Hadoop's documents and by what can go wrong."""

import pytest

from hbtable.access.auth_to_local import auth_to_local
from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration, NotAuthenticated

REALM = "HOME.EXAMPLE"
BOTH = r"""
    RULE:[2:$1@$0](nn@OTHER\.EXAMPLE)s/.*/hdfs/
    RULE:[1:$1@$0](.*@OTHER\.EXAMPLE)s/@.*//
    DEFAULT
"""


@pytest.mark.parametrize(
    ("rules", "principal", "name"),
    [
        ("", "ann@HOME.EXAMPLE", "ann"),
        ("", "ann/host@HOME.EXAMPLE", "ann"),
        ("DEFAULT", "hue/host@HOME.EXAMPLE", "hue"),
        ("DEFAULT/L", "ANN@HOME.EXAMPLE", "ann"),
        (BOTH, "nn/host@OTHER.EXAMPLE", "hdfs"),
        (BOTH, "ann@OTHER.EXAMPLE", "ann"),
        (BOTH, "ann/host@HOME.EXAMPLE", "ann"),
        ("RULE:[1:$1]", "ann@ANY.EXAMPLE", "ann"),
        ("RULE:[1:$1]/L", "Ann@ANY.EXAMPLE", "ann"),
        ("RULE:[1:$1]/L", "\N{KELVIN SIGN}ate@ANY.EXAMPLE", None),
        ("DEFAULT/L", "\N{KELVIN SIGN}ate@HOME.EXAMPLE", None),
        ("RULE:[2:$1.$2]", "hue/host@ANY.EXAMPLE", "hue.host"),
        ("RULE:[2:$2-$1@$0](host-.*)s/@.*//", "hue/host@ANY.EXAMPLE", "host-hue"),
        ("RULE:[1:$1]s/a/o/", "anna@X", "onna"),
        ("RULE:[1:$1]s/a/o/g", "anna@X", "onno"),
        ("RULE:[1:$1]s/(.)(.)/$2$1/", "anna@X", "nana"),
        (r"RULE:[1:$1]s/n/\$1/ RULE:[1:$1]", "ann@X", None),
        ("RULE:[1:$1](b.*) RULE:[1:u-$1]", "ann@X", "u-ann"),
    ],
)
def test_the_first_rule_that_fits_decides(rules: str, principal: str, name: str | None) -> None:
    made = auth_to_local(rules, REALM)
    if name is not None:
        assert made.user(principal) == name
        return
    with pytest.raises(NotAuthenticated):
        made.user(principal)


@pytest.mark.parametrize(
    ("rules", "principal", "words"),
    [
        ("", "ann@OTHER.EXAMPLE", "is not of the realm HOME.EXAMPLE"),
        ("DEFAULT", "ann@home.example", "is not of the realm HOME.EXAMPLE"),
        ("", "ann", "has no realm"),
        (BOTH, "eve@THIRD.EXAMPLE", "no rule of auth.auth_to_local fits"),
        (BOTH, "nn/host/more@OTHER.EXAMPLE", "no rule of auth.auth_to_local fits"),
        (BOTH, "eve@OTHER.EXAMPLE.EVE", "no rule of auth.auth_to_local fits"),
        ("RULE:[1:$1@$0]", "ann@OTHER.EXAMPLE", "text that is no name, 'ann@OTHER.EXAMPLE'"),
        ("RULE:[2:$1/$2]", "ann/b@X", "text that is no name"),
        ("RULE:[1:$1]s/.*//", "ann@X", "names no user"),
        ("RULE:[1:@$1]", "admins@X", "text that is no name"),
    ],
)
def test_a_principal_that_is_nobody_is_told_why(rules: str, principal: str, words: str) -> None:
    with pytest.raises(NotAuthenticated, match=words):
        auth_to_local(rules, REALM).user(principal)


@pytest.mark.parametrize(
    "rules",
    [
        "default", "RULE", "RULE:[1:$1](", "RULE:[1:$1]s/a/b", "DEFAULT,DEFAULT", "RULE:[1:$1](a)(b)",
        "DEFAULTRULE:[1:$1]",
        "RULE:[0:$1]", "RULE:[3:$1]", "RULE:[:$1]", "RULE:[1:$2]", "RULE:[2:$3]",
        "RULE:[1:$1]([)", "RULE:[1:$1]s/(/x/", "RULE:[1:$1]s/a/$1/", "RULE:[1:$1]s/(a)/$2/",
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused_with_the_configuration(rules: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"auth\.auth_to_local: "):
        AuthOptions(auth_to_local=rules)
