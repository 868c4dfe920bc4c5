import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.access.accounts import Account, Accounts
from hbtable.access.passwords import PasswordHash, TokenRecord, new_token, parts_of_token
from hbtable.encoding.sealed import seal
from hbtable.errors import AlreadyExists, Corruption, InvalidRequest, NotFound, UnsupportedFormat
from tests.harness.cheap_passwords import cheap
from tests.harness.tiers import generated

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.@/-]{0,20}", fullmatch=True)
HASHES = st.builds(cheap, st.binary(max_size=20), st.binary(min_size=1, max_size=20))
TOKENS = st.lists(
    st.builds(TokenRecord, st.from_regex("[0-9a-f]{12}", fullmatch=True), st.binary(), st.integers(0, 1 << 60)),
    max_size=4,
)


@settings(max_examples=generated(25))
@given(st.dictionaries(NAMES, st.tuples(st.none() | HASHES, TOKENS), max_size=5))
def test_what_is_written_is_read(users: dict[str, tuple[PasswordHash | None, list[TokenRecord]]]) -> None:
    accounts = Accounts({name: Account(name, kept, tuple(tokens)) for name, (kept, tokens) in users.items()})
    data = accounts.encode()
    assert Accounts.decode(data, "users") == accounts
    assert Accounts.decode(data, "users").encode() == data


@given(st.binary(max_size=60))
def test_any_other_bytes_are_refused_as_damage_or_as_a_later_format(body: bytes) -> None:
    with pytest.raises((Corruption, UnsupportedFormat)):
        Accounts.decode(seal(b"U", 1, body), "users")
    with pytest.raises((Corruption, UnsupportedFormat)):
        Accounts.decode(body, "users")


@pytest.mark.parametrize("place", ["top", "user", "password", "token"])
def test_a_field_of_a_later_version_is_not_passed_over(place: str) -> None:
    accounts = Accounts().with_user("ann", cheap(b"x")).with_token("ann", TokenRecord("a", b"b"), 0)
    content = json.loads(accounts.encode()[6:])
    user = content["users"][0]
    {"top": content, "user": user, "password": user["password"], "token": user["tokens"][0]}[place]["disabled"] = True
    with pytest.raises(UnsupportedFormat, match="'disabled'"):
        Accounts.decode(seal(b"U", 1, json.dumps(content).encode()), "users")


def test_a_hash_that_would_take_all_memory_is_refused() -> None:
    accounts = Accounts().with_user("ann", PasswordHash(b"s", b"d", 20, 64, 1))
    with pytest.raises(UnsupportedFormat, match="cost of scrypt"):
        Accounts.decode(accounts.encode(), "users")


def test_a_name_that_no_user_may_have_is_damage() -> None:
    with pytest.raises(Corruption):
        Accounts.decode(seal(b"U", 1, b'{"users": [{"name": "@admins", "tokens": []}]}'), "users")


def test_users_come_and_go() -> None:
    accounts = Accounts().with_user("ann", None).with_user("ben", cheap(b"x"))
    with pytest.raises(AlreadyExists, match="a user ann already"):
        accounts.with_user("ann", None)
    with pytest.raises(NotFound, match="no user 'carl'"):
        accounts.without_user("carl")
    assert list(accounts.without_user("ann").by_name) == ["ben"]
    with pytest.raises(InvalidRequest, match="no name of a user"):
        accounts.with_user("ann,f", None)


def test_tokens_come_and_go() -> None:
    accounts = Accounts().with_user("ann", None).with_token("ann", TokenRecord("t1", b"d", 100), 50)
    assert accounts.by_token("t1") == (accounts.account("ann"), TokenRecord("t1", b"d", 100))
    renewed = accounts.with_token("ann", TokenRecord("t2", b"d"), 100)
    assert [token.token_id for token in renewed.account("ann").tokens] == ["t2"], "t1 has expired"
    with pytest.raises(NotFound, match="ann has no token 't1'"):
        renewed.without_token("ann", "t1")
    assert renewed.without_token("ann", "t2").by_token("t2") is None


def test_nobody_has_more_tokens_than_are_looked_through() -> None:
    accounts = Accounts().with_user("ann", None)
    for number in range(100):
        accounts = accounts.with_token("ann", TokenRecord(f"t{number}", b"d"), 0)
    with pytest.raises(InvalidRequest, match="ann has 100 tokens"):
        accounts.with_token("ann", TokenRecord("more", b"d"), 0)


def test_a_token_matches_its_secret_alone() -> None:
    text, record = new_token(7)
    token_id, secret = parts_of_token(text.encode()) or ("", b"")
    assert (token_id, record.expires_millis) == (record.token_id, 7)
    assert record.matches(secret)
    assert not record.matches(secret[:-1])
    assert not record.matches(b"")
    assert new_token()[0] != text
    assert secret.decode() not in repr(record)


@pytest.mark.parametrize("text", [b"", b"hbt", b"hbt.a", b"hbt..x", b"htb.a.b", b"hbt.a.b.c", b"hbt.\xff.b", b"a.b.c"])
def test_other_text_is_no_token(text: bytes) -> None:
    assert parts_of_token(text) is None


def test_a_password_matches_its_own_hash_alone() -> None:
    kept = PasswordHash.of("correct horse")
    assert kept.matches(b"correct horse")
    assert not kept.matches(b"correct horsf")
    assert kept.is_affordable()
    assert b"correct" not in Accounts().with_user("ann", kept).encode()


@pytest.mark.parametrize(
    "password", ["", "seven77", "with\0zero", "a line\nfeed", "x" * 1025, "ä" * 600, "hbt.2026.winter"]
)
def test_a_password_that_would_not_do_is_refused_without_being_shown(password: str) -> None:
    with pytest.raises(InvalidRequest, match="a password has") as refused:
        PasswordHash.of(password)
    assert not password or password not in str(refused.value)


def test_each_change_has_its_words_and_no_secret() -> None:
    token, record = new_token(0)
    password, other = cheap(b"correct horse"), cheap(b"battery staple")
    steps: list[tuple[Accounts, list[tuple[str, str]]]] = [(Accounts(), [])]

    def then(accounts: Accounts, *said: str) -> None:
        steps.append((accounts, [("ann", one) for one in said]))

    then(Accounts().with_user("ann", password), "added")
    then(steps[-1][0].with_token("ann", record, 0), f"token {record.token_id} made")
    then(steps[-1][0].with_password("ann", other), "password changed")
    then(steps[-1][0].without_token("ann", record.token_id), f"token {record.token_id} ended")
    then(steps[-1][0].without_user("ann"), "removed")
    then(steps[3][0], "added", f"token {record.token_id} made")
    for (before, _), (after, said) in pairwise(steps):
        found = list(after.changed_since(before))
        assert found == said
        assert token.rpartition(".")[2] not in str(found)
        assert list(after.changed_since(after)) == []
