"""Grants against a model that keeps (holder, scope, letter), and what follows from them for columns."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.access import grants_record
from hbtable.access.actions import Action, actions_of, letters_of
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.permissions import Permissions
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import User

NAMES = (b"t", b"u", b"ns:t")
FAMILIES = (b"f", b"g")
QUALIFIERS = (b"", b"a", b"b")
SCOPES = [GLOBAL, Scope(b"ns"), Scope(b"default")]
SCOPES += [of_table(name) for name in NAMES]
SCOPES += [of_table(name, family) for name in NAMES for family in FAMILIES]
SCOPES += [of_table(name, f, q) for name in NAMES for f in FAMILIES for q in QUALIFIERS]
HOLDERS = ("ann", "bob", "@ann", "@team")
USERS = [User("ann"), User("bob", frozenset(("team",))), User("cyd", frozenset(("ann", "team"))), User("team")]
LETTERS = "RWXCA"

letters = st.text(LETTERS, min_size=1, max_size=5)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("grant"), st.sampled_from(HOLDERS), st.sampled_from(SCOPES), letters),
        st.tuples(st.just("replace"), st.sampled_from(HOLDERS), st.sampled_from(SCOPES), letters),
        st.tuples(st.just("revoke"), st.sampled_from(HOLDERS), st.sampled_from(SCOPES), letters),
        st.tuples(st.just("gone"), st.just(""), st.sampled_from(SCOPES[1:]), st.just("R")),
    ),
    max_size=12,
)
Model = set[tuple[str, Scope, str]]


def played(script: list[tuple[str, str, Scope, str]]) -> tuple[Grants, Model]:
    grants, model = NO_GRANTS, set()
    for what, holder, scope, given_letters in script:
        actions = actions_of(given_letters)
        if what == "gone":
            grants = grants.without_below(scope)
            model = {one for one in model if not is_below(one[1], scope)}
            continue
        if what == "revoke":
            grants = grants.without(holder, scope, actions)
            model -= {(holder, scope, letter) for letter in given_letters}
            continue
        grants = grants.with_grant(holder, scope, actions, merge=what == "grant")
        if what == "replace":
            model = {one for one in model if one[:2] != (holder, scope)}
        model |= {(holder, scope, letter) for letter in given_letters}
    return grants, model


def is_below(scope: Scope, gone: Scope) -> bool:
    """An empty qualifier is one: that no column is meant, None says."""
    return scope[:3] == tuple(their or mine for mine, their in zip(scope[:3], gone[:3], strict=True)) and (
        gone.qualifier is None or scope.qualifier == gone.qualifier
    )


@settings(deadline=None)
@given(steps)
def test_grants_are_what_was_granted_and_not_revoked(script: list[tuple[str, str, Scope, str]]) -> None:
    grants, model = played(script)
    assert {(one.holder, one.scope, letter) for one in grants for letter in letters_of(one.actions)} == model
    assert grants_record.decode(grants_record.encode(grants)) == grants


@settings(deadline=None)
@given(steps, steps)
def test_equal_grants_give_equal_bytes(
    first: list[tuple[str, str, Scope, str]], second: list[tuple[str, str, Scope, str]]
) -> None:
    one, other = played(first)[0], played(second)[0]
    again = NO_GRANTS
    for grant in reversed(list(one)):
        again = again.with_grant(grant.holder, grant.scope, grant.actions)
    assert grants_record.encode(again) == grants_record.encode(one)
    assert (grants_record.encode(other) == grants_record.encode(one)) == (one == other)


@settings(deadline=None)
@given(steps, st.sampled_from(USERS), st.sampled_from(SCOPES), st.sampled_from(LETTERS))
def test_a_right_is_held_where_it_or_a_wider_one_was_granted(
    script: list[tuple[str, str, Scope, str]], user: User, scope: Scope, letter: str
) -> None:
    grants, model = played(script)
    mine = {user.name, *("@" + group for group in user.groups)}
    expected = any(who in mine and held == letter and is_below(scope, where) for who, where, held in model)
    assert Permissions((), grants).allowed(user, actions_of(letter), scope) == expected
    assert Permissions((user.name,), grants).allowed(user, actions_of(letter), scope)
    assert not Permissions((user.name,), grants).allowed(None, actions_of(letter), scope)


@settings(deadline=None)
@given(
    steps,
    st.sampled_from(USERS),
    st.sampled_from(NAMES),
    st.none()
    | st.dictionaries(st.sampled_from(FAMILIES), st.none() | st.frozensets(st.sampled_from(QUALIFIERS)), min_size=1),
)
def test_a_narrowed_read_has_what_is_asked_for_and_held_and_nothing_else(
    script: list[tuple[str, str, Scope, str]],
    user: User,
    table: bytes,
    asked: dict[bytes, frozenset[bytes] | None] | None,
) -> None:
    permissions = Permissions((), played(script)[0])
    rights = permissions.readable(user, table)
    assert permissions.readable(User(user.name, user.groups), table) is rights
    found = asked if rights.cover(asked) else rights.part_of(asked)

    def holds(columns: dict[bytes, frozenset[bytes] | None] | None, family: bytes, qualifier: bytes) -> bool:
        if columns is None:
            return True
        return family in columns and (columns[family] is None or qualifier in (columns[family] or ()))

    cells = [(family, qualifier) for family in FAMILIES for qualifier in (*QUALIFIERS, b"new")]
    held = {cell for cell in cells if permissions.allowed(user, Action.READ, of_table(table, *cell))}
    assert {cell for cell in cells if holds(found, *cell)} == {cell for cell in held if holds(asked, *cell)}
    assert {cell for cell in cells if rights.covers(*cell)} == held
    for family in FAMILIES:
        assert rights.covers(family, None) == permissions.allowed(user, Action.READ, of_table(table, family))
    every_part = asked is not None and all(
        rights.covers(family, None) if names is None else names and all(rights.covers(family, name) for name in names)
        for family, names in asked.items()
    )
    assert rights.cover(asked) == (rights.whole or every_part)
    assert rights.cover(asked) == (found is asked)


def test_whoever_holds_anything_may_know_of_the_table() -> None:
    grants = NO_GRANTS.with_grant("ann", of_table(b"ns:t", b"f", b"a"), Action.EXEC)
    permissions = Permissions(("@supers",), grants)
    assert permissions.anything(User("ann"), b"ns:t")
    assert not permissions.anything(User("ann"), b"ns:u")
    assert not permissions.anything(User("bob"), b"ns:t")
    assert permissions.anything(User("sue", frozenset(("supers",))), b"ns:t")
    assert not permissions.anything(None, b"ns:t")
