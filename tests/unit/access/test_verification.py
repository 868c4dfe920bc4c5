from pathlib import Path
from typing import Any

import pytest

from hbtable.access import options, verification
from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.passwords import PasswordHash, new_token
from hbtable.access.store import AccountFile, AccountNode, AccountStore
from hbtable.access.tries import FailedTries
from hbtable.access.user import User
from hbtable.access.verification import Verifier
from hbtable.errors import HbtableError, NotAuthenticated, Unavailable
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.testing.memory_lockservice import MemoryLockService
from tests.harness.cheap_passwords import cheap

OPTIONS = AuthOptions(
    enabled=True, superusers="root, @admins", groups="admins = ann; readers = ann, ben", proxies="hue"
)

NOBODYS = cheap(b"of nobody")


class Clock:
    """A runtime whose clocks are set by hand, and whose threads count what they compute."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.computed = 0
        self.real = GeventRuntime()
        self.gate: Any = None
        """Computations begin when it is set."""
        self.lock = self.real.lock
        self.event = self.real.event

    def clock_seconds(self) -> float:
        return self.now

    def wall_millis(self) -> int:
        return int(self.now * 1000)

    def offload(self, kind: str, function: Any, *arguments: object) -> Any:
        self.computed += 1
        if self.gate is not None:
            self.gate.wait()
        return self.real.offload(kind, function, *arguments)


class Kept:
    def __init__(self) -> None:
        self.accounts = Accounts().with_user("ann", cheap(b"correct horse")).with_user("program", None)

    def read(self, latest: bool = False) -> Accounts:
        return self.accounts


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(verification, "NOBODYS", NOBODYS)
    return Clock()


@pytest.fixture
def kept() -> Any:
    return Kept()


@pytest.fixture
def verifier(clock: Any, kept: Any) -> Verifier:
    return Verifier(clock, kept, OPTIONS)


def test_the_right_password_gives_the_user_with_its_groups(verifier: Verifier) -> None:
    assert verifier.by_password("ann", b"correct horse", "h") == User("ann", frozenset({"admins", "readers"}))


@pytest.mark.parametrize(
    ("name", "secret"),
    [("ann", b"wrong"), ("nobody", b"correct horse"), ("program", b""), ("ann", b""), ("ann", b"x" * 2000), ("", b"")],
)
def test_all_that_is_wrong_is_refused_alike_and_costs_alike(
    verifier: Verifier, clock: Any, name: str, secret: bytes
) -> None:
    with pytest.raises(NotAuthenticated) as refused:
        verifier.by_password(name, secret, "h")
    assert str(refused.value) == "the user or the password is wrong"
    assert clock.computed == (1 if len(secret) < 2000 else 0)


@pytest.mark.parametrize("behind", [b"\0", b"\0\0\0", b"\n", b"\r", b"\x7f", b"\xff", "\u2028".encode()])
@pytest.mark.parametrize("known", [False, True])
def test_a_password_with_what_none_can_have_is_refused(
    verifier: Verifier, clock: Any, behind: bytes, known: bool
) -> None:
    """scrypt takes zero bytes behind a password for nothing."""
    if known:
        verifier.by_password("ann", b"correct horse", "h")
    with pytest.raises(NotAuthenticated, match="the user or the password is wrong"):
        verifier.by_password("ann", b"correct horse" + behind, "h")
    assert clock.computed == int(known)


def test_a_right_password_is_computed_once_a_minute(verifier: Verifier, clock: Any) -> None:
    for _ in range(3):
        verifier.by_password("ann", b"correct horse", "h")
    assert clock.computed == 1
    clock.now += 61
    verifier.by_password("ann", b"correct horse", "h")
    assert clock.computed == 2


def test_a_changed_password_ends_the_old_one_at_once(verifier: Verifier, kept: Any) -> None:
    verifier.by_password("ann", b"correct horse", "h")
    kept.accounts = kept.accounts.with_password("ann", cheap(b"battery staple"))
    with pytest.raises(NotAuthenticated):
        verifier.by_password("ann", b"correct horse", "h")
    verifier.by_password("ann", b"battery staple", "h")
    kept.accounts = kept.accounts.without_user("ann")
    with pytest.raises(NotAuthenticated):
        verifier.by_password("ann", b"battery staple", "h")


@pytest.mark.parametrize("by", ["password", "token"])
@pytest.mark.parametrize("kind", ["file", "node"])
def test_the_list_for_open_connections_has_what_a_login_was_let_in_by(
    clock: Any, tmp_path: Path, kind: str, by: str
) -> None:
    store: AccountStore = AccountFile(str(tmp_path))
    if kind == "node":
        store = AccountNode(MemoryLockService(clock.real).open_session("test"), clock.clock_seconds)
    verifier = Verifier(clock, store, OPTIONS)
    assert verifier.look() == Accounts()
    clock.now += 0.6  # later than a node looks again, and sooner than what was read by look() is too old
    token, record = new_token()
    store.change(lambda accounts: accounts.with_user("ann", cheap(b"correct horse")).with_token("ann", record, 0))
    login = verifier.log_in("ann", token.encode() if by == "token" else b"correct horse", "h")
    clock.now += 0.01
    login.check(verifier.accounts(), clock.wall_millis())
    assert verifier.look() == store.read()


def test_who_is_new_is_let_in_at_once_by_a_server_that_has_just_looked(clock: Any, kept: Any) -> None:
    """So is a new token, and a new password. A stranger has the list read twenty times a second at most."""
    store, other = (
        AccountNode(service.open_session(name), clock.clock_seconds)
        for service in [MemoryLockService(clock.real)]
        for name in ("server", "operator")
    )
    verifier = Verifier(clock, store, OPTIONS)
    token, record = new_token()
    for change, name, secret in (
        (lambda accounts: accounts.with_user("ann", cheap(b"correct horse")), "ann", b"correct horse"),
        (lambda accounts: accounts.with_password("ann", cheap(b"battery staple")), "ann", b"battery staple"),
        (lambda accounts: accounts.with_token("ann", record, 0), "ann", token.encode()),
        (lambda accounts: accounts.with_user("ben", cheap(b"another one")), "ben", b"another one"),
    ):
        store.read(latest=True)
        clock.now += 0.06
        other.change(change)
        assert verifier.by_password(name, secret, "h").name == name
    looks: list[bool] = []
    read = store.read
    store.read = lambda latest=False: looks.append(latest) or read(latest)  # type: ignore[method-assign, func-returns-value]
    for number in range(40):
        clock.now += 0.01
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password(f"nobody{number}", b"x", f"h{number}")
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_token(b"hbt.000000000000." + b"A" * 43)
    assert 7 <= sum(looks) <= 8


def test_who_acts_for_somebody_hands_that_on_to_nobody(verifier: Verifier) -> None:
    """A login by SASL may be one for another user, and a request by HTTP inside of it names one as well."""
    hue, ann = User("hue"), User("ann", frozenset({"admins"}))
    assert verifier.acting_for(hue, "ben").through == "hue"
    acting = verifier.acting_for(ann, "hue")
    assert verifier.acting_for(acting, "hue") is acting
    with pytest.raises(NotAuthenticated, match="ann acts for hue, who cannot act for ben meanwhile"):
        verifier.acting_for(acting, "ben")


def test_a_user_is_known_by_his_name_and_by_the_numbers_of_his_tokens(verifier: Verifier, kept: Any) -> None:
    """Also where nobody follows the list: by what was read for the login that is refused."""
    kept.accounts = kept.accounts.with_token("ann", new_token()[1], 0)
    (token,) = kept.accounts.by_name["ann"].tokens
    for claimed in ("root", "@admins", "hue"):
        assert verifier.knows(claimed)
    with pytest.raises(NotAuthenticated):
        verifier.by_password("made-up", b"x", "h")
    assert all(map(verifier.knows, ("ann", "program", f"token {token.token_id}")))
    assert not any(map(verifier.knows, ("", "made-up", "token", "token ", "token 000000000000", "ann ben", "")))


def test_who_tries_too_often_has_to_wait_even_with_the_right_one(verifier: Verifier, clock: Any) -> None:
    for _ in range(5):
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password("ann", b"wrong", "h")
    with pytest.raises(NotAuthenticated, match="too many wrong passwords from h: the next try is possible in 1 s"):
        verifier.by_password("ann", b"correct horse", "h")
    clock.now += 0.7
    with pytest.raises(NotAuthenticated, match="is possible in 1 s"):  # and not in 0
        verifier.by_password("ann", b"correct horse", "h")
    assert clock.computed == 5
    assert verifier.by_password("ann", b"correct horse", "another").name == "ann"
    clock.now += 2
    assert verifier.by_password("ann", b"correct horse", "h").name == "ann"


def test_a_token_does_what_the_password_does_until_it_expires(verifier: Verifier, kept: Any, clock: Any) -> None:
    text, record = new_token(clock.wall_millis() + 1000)
    kept.accounts = kept.accounts.with_token("program", record, 0)
    assert verifier.by_token(text.encode()) == User("program")
    assert verifier.by_password("program", text.encode(), "h") == User("program")
    assert clock.computed == 0
    with pytest.raises(NotAuthenticated, match="the token is wrong"):
        verifier.by_password("ann", text.encode(), "h")
    for wrong in (text[:-1], f"hbt.{record.token_id}.", "hbt.0.0"):
        with pytest.raises(NotAuthenticated, match="the token is wrong"):
            verifier.by_token(wrong.encode())
    clock.now += 1
    with pytest.raises(NotAuthenticated, match="has expired: `hbtable user token program` gives another"):
        verifier.by_token(text.encode())


def test_a_wrong_token_keeps_nobody_out(verifier: Verifier, kept: Any) -> None:
    text, record = new_token()
    kept.accounts = kept.accounts.with_token("program", record, 0)
    for _ in range(20):
        with pytest.raises(NotAuthenticated):
            verifier.by_token(new_token()[0].encode())
        with pytest.raises(NotAuthenticated):
            verifier.by_password("program", new_token()[0].encode(), "h")
    assert verifier.by_token(text.encode()) == verifier.by_password("program", text.encode(), "h") == User("program")


def test_a_revoked_token_ends_at_once(verifier: Verifier, kept: Any) -> None:
    text, record = new_token()
    kept.accounts = kept.accounts.with_token("program", record, 0)
    verifier.by_token(text.encode())
    kept.accounts = kept.accounts.without_token("program", record.token_id)
    with pytest.raises(NotAuthenticated):
        verifier.by_token(text.encode())


def test_text_that_is_no_token_is_refused(verifier: Verifier) -> None:
    with pytest.raises(NotAuthenticated, match=r"this is no token, which looks like hbt\.ID\.SECRET"):
        verifier.by_token(b"correct horse")


def test_a_subject_of_a_certificate_is_a_user(verifier: Verifier) -> None:
    assert verifier.by_certificate(["ben"]) == User("ben", frozenset({"readers"}))
    with pytest.raises(NotAuthenticated, match=r"the subject \(CN\)"):
        verifier.by_certificate(["Ann Smith"])


def test_the_configuration_is_read_once_and_not_by_each_request(
    clock: Any, kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand names in auth.groups took 15 ms of each request by HTTP, in which nobody else was served."""
    verifier = Verifier(clock, kept, OPTIONS)
    token, record = new_token()
    kept.accounts = kept.accounts.with_token("ann", record, 0)
    monkeypatch.setattr(options, "_names", None)
    for user in (
        verifier.by_token(token.encode()),
        verifier.by_password("ann", b"correct horse", "h"),
        verifier.by_certificate(["ann"]),
        verifier.acting_for(User("root"), "ann"),
    ):
        assert user == User("ann", frozenset({"admins", "readers"}))


@pytest.mark.parametrize(
    ("names", "said"),
    [(["ben", "root"], r"has 2 names \(CN\), where one is due: 'ben', 'root'"), ([], r"has no name \(CN\)")],
)
def test_a_certificate_names_one_user(verifier: Verifier, names: list[str], said: str) -> None:
    with pytest.raises(NotAuthenticated, match=said):
        verifier.by_certificate(names)


@pytest.mark.parametrize("who", ["root", "ann"])
def test_superusers_act_for_everybody(verifier: Verifier, who: str) -> None:
    user = verifier.by_certificate([who])
    assert verifier.acting_for(user, "ben") == User("ben", frozenset({"readers"}))
    assert verifier.acting_for(user, "root") == User("root")
    assert verifier.acting_for(user, "") is verifier.acting_for(user, who) is user


def test_proxies_act_for_all_but_superusers(verifier: Verifier) -> None:
    hue = User("hue")
    assert verifier.acting_for(hue, "ben") == User("ben", frozenset({"readers"}))
    for superuser in ("root", "ann"):
        with pytest.raises(NotAuthenticated, match=f"not for {superuser}, a superuser"):
            verifier.acting_for(hue, superuser)


def test_nobody_else_acts_for_others(verifier: Verifier) -> None:
    with pytest.raises(NotAuthenticated, match="ben may not act for carl: only superusers"):
        verifier.acting_for(User("ben", frozenset({"readers"})), "carl")
    with pytest.raises(NotAuthenticated, match="no name of a user"):
        verifier.acting_for(User("root"), "a b")


def storm(verifier: Verifier, clock: Any, logins: list[tuple[str, bytes, str]]) -> list[str]:
    """All at once; what became of each: a name, or the text of the refusal."""
    clock.gate = clock.real.event()
    found: list[str] = []

    def log_in(name: str, secret: bytes, host: str) -> None:
        try:
            found.append(verifier.by_password(name, secret, host).name)
        except HbtableError as error:
            found.append(str(error))

    tasks = [clock.real.spawn(log_in, *login) for login in logins]
    clock.real.sleep(0)
    clock.gate.set()
    for task in tasks:
        task.join()
    return found


def test_one_address_has_a_tenth_of_the_queue(verifier: Verifier, clock: Any) -> None:
    invented = [(f"u{number}", b"wrong", "h") for number in range(56)]
    found = storm(verifier, clock, [*invented, ("ann", b"correct horse", "another")])
    assert found.count("5 passwords from h are being checked already: try again in some seconds") == 51
    assert found.count("the user or the password is wrong") == 5
    assert "ann" in found


def test_all_addresses_together_have_the_queue(verifier: Verifier, clock: Any) -> None:
    found = storm(verifier, clock, [(f"u{number}", b"wrong", f"h{number // 5}") for number in range(56)])
    assert found.count("50 passwords are being checked already: try again in some seconds") == 6
    assert verifier.by_password("ann", b"correct horse", "h0").name == "ann"


@pytest.mark.parametrize(
    ("secret", "said"), [(b"correct horse", "ann"), (b"wrong", "the user or the password is wrong")]
)
def test_the_same_password_at_the_same_moment_is_computed_once(
    verifier: Verifier, clock: Any, secret: bytes, said: str
) -> None:
    """As of an application whose connections all say it again after a minute."""
    assert storm(verifier, clock, [("ann", secret, "h")] * 60) == [said] * 60
    assert clock.computed == 1
    assert not verifier._checks._waiting
    assert not verifier._checks._computing


def test_invented_names_use_up_the_tries_of_their_address(verifier: Verifier, clock: Any) -> None:
    verifier.by_password("ann", b"correct horse", "h")
    for number in range(50):
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password(f"u{number}", b"wrong", "h")
    clock.computed = 0
    for name, secret in (("u50", b"wrong"), ("ann", b"wrong too")):
        with pytest.raises(NotAuthenticated, match="too many wrong passwords from h: the next try is possible in 2 s"):
            verifier.by_password(name, secret, "h")
    assert verifier.by_password("ann", b"correct horse", "h").name == "ann"  # it was right a moment ago
    assert clock.computed == 0
    assert verifier.by_password("ann", b"correct horse", "another").name == "ann"
    clock.now += 2
    with pytest.raises(NotAuthenticated, match="is wrong"):
        verifier.by_password("u50", b"wrong", "h")


def test_what_can_be_no_password_keeps_an_address_out_for_two_seconds_at_most(verifier: Verifier, clock: Any) -> None:
    """It costs nothing, so 20,000 of them took a second, and the address waited for eleven hours."""
    for number in range(2000):
        with pytest.raises(NotAuthenticated, match="is wrong" if number < 50 else "possible in 2 s"):
            verifier.by_password(f"u{number}", b"\xff", "h")
    with pytest.raises(NotAuthenticated, match="possible in 2 s"):
        verifier.by_password("ann", b"correct horse", "h")
    clock.now += 2
    assert verifier.by_password("ann", b"correct horse", "h").name == "ann"


def used_up(verifier: Verifier, host: str) -> None:
    for number in range(50):
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password(f"u{number}", b"wrong", host)


def test_a_password_that_was_right_a_moment_ago_is_no_free_guess(verifier: Verifier, clock: Any, kept: Any) -> None:
    """What is known is let in where an address has used up its tries. A stranger who had done that made as many
    guesses at it as he could send."""
    kept.accounts = kept.accounts.with_user("ben", cheap(b"another one"))
    for name, secret in (("ann", b"correct horse"), ("ben", b"another one")):
        verifier.by_password(name, secret, "far")
    used_up(verifier, "h")
    for number in range(10):
        with pytest.raises(NotAuthenticated, match="too many wrong passwords from h"):
            verifier.by_password("ann", b"guess %d" % number, "h")
    with pytest.raises(NotAuthenticated, match="too many wrong passwords from h"):
        verifier.by_password("ann", b"correct horse", "h")
    assert verifier.by_password("ben", b"another one", "h").name == "ben"
    assert verifier.by_password("ann", b"correct horse", "far").name == "ann"
    clock.now += 2  # of 1, 2, 4, ... up to 60
    assert verifier.by_password("ann", b"correct horse", "h").name == "ann"


def test_a_full_queue_gives_no_free_guesses_either(verifier: Verifier, clock: Any) -> None:
    verifier.by_password("ann", b"correct horse", "far")
    filling = [(f"u{number}", b"wrong", "h") for number in range(5)]
    guesses = [("ann", b"guess %d" % number, "h") for number in range(10)]
    right = [("ann", b"correct horse", host) for host in ("h", "far")]
    found = storm(verifier, clock, [*filling, *guesses, *right])
    assert found.count("5 passwords from h are being checked already: try again in some seconds") == 11
    assert found.count("ann") == 1


def test_made_up_names_have_no_guess_at_a_known_password_forgotten(verifier: Verifier, clock: Any) -> None:
    verifier._limits.comparisons = FailedTries(most=10)
    verifier.by_password("ann", b"correct horse", "far")
    used_up(verifier, "h")
    for number in range(10):
        for name in ("ann", *(f"v{number}-{other}" for other in range(10))):
            with pytest.raises(NotAuthenticated, match="too many wrong passwords from h"):
                verifier.by_password(name, b"guess %d" % number, "h")
    with pytest.raises(NotAuthenticated, match="too many wrong passwords from h"):
        verifier.by_password("ann", b"correct horse", "h")


def test_who_is_known_gives_others_at_the_address_no_further_tries(verifier: Verifier, clock: Any) -> None:
    for number in range(4):
        assert verifier.by_password("ann", b"correct horse", "h").name == "ann"
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password("ann", b"wrong %d" % number, "h")
    assert verifier.by_password("ann", b"correct horse", "h").name == "ann"
    with pytest.raises(NotAuthenticated, match="is wrong"):
        verifier.by_password("ann", b"wrong", "h")
    with pytest.raises(NotAuthenticated, match="possible in 1 s"):
        verifier.by_password("ann", b"wrong too", "h")
    clock.now += 61
    assert verifier.by_password("ann", b"correct horse", "h").name == "ann"
    for number in range(5):
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password("ann", b"wrong %d" % number, "h")


@pytest.mark.parametrize(("names", "wait"), [(["ann"], 60), ([f"u{number}" for number in range(100)], 2)])
def test_of_those_who_come_at_once_when_the_wait_is_over_one_may_try(
    verifier: Verifier, clock: Any, names: list[str], wait: float
) -> None:
    guesses = iter(range(1000))

    def at_once(times: int) -> list[str]:
        several = [next(guesses) for _ in range(times)]
        logins = [(names[number % len(names)], b"guess %d" % number, "h") for number in several]
        return sorted(said[:18] for said in storm(verifier, clock, logins))

    while at_once(1) == ["the user or the pa"]:
        pass
    for _ in range(12):
        clock.now += wait + 0.1
        assert at_once(5) == ["the user or the pa", *["too many wrong pas"] * 4]


def test_connections_with_the_right_password_wait_for_one_another(verifier: Verifier, clock: Any) -> None:
    """A program that is started again with what is right, behind failures: the first try counts until it ends."""
    for number in range(6):
        clock.now += 61
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password("ann", b"wrong %d" % number, "h")
    clock.now += 61
    assert storm(verifier, clock, [("ann", b"correct horse", "h")] * 8) == ["ann"] * 8
    assert clock.computed == 7
    assert not verifier._checks._last


@pytest.mark.parametrize("stale", [False, True])
def test_a_try_that_is_right_counts_for_nobody(verifier: Verifier, clock: Any, kept: Any, stale: bool) -> None:
    """Also where it is computed twice, by what the user's password was half a second ago and by what it is now."""
    if stale:
        known, kept.latest = kept.accounts, kept.accounts.with_user("ben", cheap(b"another one"))
        for number in range(60):
            kept.latest = kept.latest.with_password("ann", cheap(b"new %d" % number))
            kept.read = lambda latest=False: kept.latest if latest else known
            clock.now += 0.1
            assert verifier.by_password("ann", b"new %d" % number, "h").name == "ann"
        assert clock.computed == 120
    else:
        for _ in range(60):
            clock.now += 61
            assert verifier.by_password("ann", b"correct horse", "h").name == "ann"
    for number in range(50):
        with pytest.raises(NotAuthenticated, match="is wrong"):
            verifier.by_password(f"u{number}", b"wrong", "h")


def test_a_list_that_cannot_be_read_lets_nobody_in_and_says_so_to_the_log(
    clock: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "users").write_bytes(b"")
    (tmp_path / "users").chmod(0o644)
    verifier = Verifier(clock, AccountFile(str(tmp_path)), OPTIONS)
    with pytest.raises(Unavailable, match="the list of users cannot be read now") as refused:
        verifier.by_password("ann", b"correct horse", "h")
    assert str(tmp_path) not in str(refused.value)
    assert "chmod 600" in caplog.text


def test_a_real_hash_is_computed_beside_the_hub(clock: Any, kept: Any) -> None:
    kept.accounts = Accounts().with_user("ann", PasswordHash.of("correct horse"))
    assert Verifier(clock, kept, OPTIONS).by_password("ann", b"correct horse", "h").name == "ann"
