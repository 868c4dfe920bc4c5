import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.passwords import TokenRecord
from hbtable.access.store import AccountFile, AccountNode, AccountStore
from hbtable.errors import AlreadyExists, Corruption, InvalidConfiguration, NotFound
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.testing.memory_lockservice import MemoryLockService

_SERVER = 4711


@pytest.fixture(params=["file", "node"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], AccountStore]]:
    """Opens the same list of users, as another process would."""
    if request.param == "file":
        yield lambda: AccountFile(str(tmp_path / "data"))
        return
    service = MemoryLockService(GeventRuntime())
    sessions = []

    def opened() -> AccountStore:
        sessions.append(service.open_session("test"))
        return AccountNode(sessions[-1])

    yield opened
    for session in sessions:
        session.close()


@pytest.mark.parametrize("folder", ["file", "file/below", "none"])
def test_where_there_is_no_folder_there_is_no_list(tmp_path: Path, folder: str) -> None:
    """A start on a file by mistake warned of a list of users that nobody is asked for."""
    (tmp_path / "file").write_text("")
    assert AccountFile(str(tmp_path / folder)).read() == Accounts()


def test_a_change_is_seen_by_whoever_has_it_open(open_store: Callable[[], AccountStore]) -> None:
    one, other = open_store(), open_store()
    assert other.read() == Accounts()
    one.change(lambda accounts: accounts.with_user("ann", None))
    assert list(other.read().by_name) == ["ann"]
    other.change(lambda accounts: accounts.with_user("ben", None))
    one.change(lambda accounts: accounts.without_user("ann"))
    assert list(other.read().by_name) == list(open_store().read().by_name) == ["ben"]


def test_a_refused_change_changes_nothing(open_store: Callable[[], AccountStore]) -> None:
    store = open_store()
    with pytest.raises(NotFound):
        store.change(lambda accounts: accounts.without_user("ann"))
    store.change(lambda accounts: accounts.with_user("ann", None))
    with pytest.raises(AlreadyExists):
        store.change(lambda accounts: accounts.with_user("ann", None))
    assert list(store.read().by_name) == ["ann"]


def test_changes_at_the_same_time_are_all_made() -> None:
    runtime = GeventRuntime()
    service = MemoryLockService(runtime)
    sessions = [service.open_session("test") for _ in range(8)]

    def add(number: int) -> None:
        AccountNode(sessions[number]).change(lambda accounts: accounts.with_user(f"u{number}", None))

    for task in [runtime.spawn(add, number) for number in range(8)]:
        task.join()
        assert task.error is None
    assert sorted(AccountNode(sessions[0]).read().by_name) == [f"u{number}" for number in range(8)]


def test_a_gateway_looks_twice_a_second_at_most() -> None:
    now = [100.0]
    session = MemoryLockService(GeventRuntime()).open_session("test")
    looking, changing = AccountNode(session, lambda: now[0]), AccountNode(session)
    assert looking.read() == Accounts()
    changing.change(lambda accounts: accounts.with_user("ann", None))
    now[0] += 0.4
    assert looking.read() == Accounts()
    now[0] += 0.2
    assert list(looking.read().by_name) == ["ann"]
    kept = session.read("/users").data
    session.delete("/users")
    now[0] += 1.0
    assert looking.read() == Accounts()
    session.create("/users", kept)
    now[0] += 1.0
    assert list(looking.read().by_name) == ["ann"]


def test_the_file_is_for_its_owner_alone_and_a_looser_one_is_refused(tmp_path: Path) -> None:
    store = AccountFile(str(tmp_path / "data"))
    store.change(lambda accounts: accounts.with_user("ann", None))
    file = tmp_path / "data" / "users"
    assert [oct(os.stat(path).st_mode & 0o777) for path in (file.parent, file)] == ["0o700", "0o600"]
    for mode in (0o640, 0o604, 0o602):
        file.chmod(mode)
        with pytest.raises(InvalidConfiguration, match=f"mode {mode:04o}.*chmod 600"):
            store.read()
    file.chmod(0o600)
    assert list(store.read().by_name) == ["ann"]


def test_a_link_to_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "users").symlink_to("elsewhere")
    with pytest.raises(InvalidConfiguration, match="symbolic link"):
        AccountFile(str(tmp_path)).read()


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "users").mkdir(mode=0o700)
    with pytest.raises(InvalidConfiguration, match="Is a directory"):
        AccountFile(str(tmp_path)).read()


def test_what_an_interrupted_change_left_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "users.new").write_bytes(b"half")
    store = AccountFile(str(tmp_path))
    store.change(lambda accounts: accounts.with_user("ann", None))
    store.change(lambda accounts: accounts.with_token("ann", TokenRecord("t", b"d"), 0))
    assert AccountFile(str(tmp_path)).read().by_token("t") is not None
    assert sorted(os.listdir(tmp_path)) == ["users", "users.lock"]


def test_a_damaged_list_lets_nobody_in(tmp_path: Path) -> None:
    store = AccountFile(str(tmp_path))
    store.change(lambda accounts: accounts.with_user("ann", None))
    data = bytearray((tmp_path / "users").read_bytes())
    data[20] ^= 1
    (tmp_path / "users").write_bytes(data)
    with pytest.raises(Corruption):
        store.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of several users")
def test_root_leaves_the_list_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.chown(tmp_path, _SERVER, _SERVER)
    AccountFile(str(tmp_path)).change(lambda accounts: accounts.with_user("ann", None))
    assert {(path.name, path.stat().st_uid) for path in tmp_path.iterdir()} == {
        ("users", _SERVER),
        ("users.lock", _SERVER),
    }
    AccountFile(str(tmp_path)).change(lambda accounts: accounts.with_user("ben", None))
    assert sorted(AccountFile(str(tmp_path)).read().by_name) == ["ann", "ben"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of several users")
def test_root_gives_nobody_a_file_that_was_linked_there(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "data"
    precious.write_text("of root")
    folder.mkdir(0o700)
    os.chown(folder, _SERVER, _SERVER)
    os.link(precious, folder / "users.lock")
    AccountFile(str(folder)).change(lambda accounts: accounts.with_user("ann", None))
    assert precious.stat().st_uid == 0
    (folder / "users.lock").unlink()
    (folder / "users.lock").symlink_to(precious)
    with pytest.raises(InvalidConfiguration, match="symbolic link"):
        AccountFile(str(folder)).change(lambda accounts: accounts.with_user("ben", None))
    assert (precious.stat().st_uid, precious.read_text()) == (0, "of root")
