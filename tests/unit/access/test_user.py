from typing import Any

import pytest

from hbtable.access.options import AuthOptions
from hbtable.access.user import User, act_as, acting_as, acting_user, check_name
from hbtable.errors import InvalidConfiguration, InvalidRequest
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.parallel import run_all

ANN = User("ann", frozenset({"admins"}))


def test_a_task_acts_for_its_own_user_alone() -> None:
    runtime, seen = GeventRuntime(), {}

    def work(name: str) -> None:
        act_as(User(name))
        runtime.sleep(0)
        seen[name] = acting_user()

    tasks = [runtime.spawn(work, name) for name in ("ann", "ben")]
    for task in tasks:
        task.join()
    assert seen == {"ann": User("ann"), "ben": User("ben")}
    assert acting_user() is None


def test_a_task_that_is_spawned_begins_without_a_user() -> None:
    runtime, seen = GeventRuntime(), []
    with acting_as(ANN):
        runtime.spawn(lambda: seen.append(acting_user())).join()
    assert seen == [None]


@pytest.mark.parametrize("limit", [1, 4])
def test_parts_of_a_call_that_run_at_once_are_of_its_user(limit: int) -> None:
    runtime: Any = GeventRuntime()

    def job() -> User | None:
        runtime.sleep(0)
        return acting_user()

    with acting_as(ANN):
        assert run_all(runtime, limit, [job] * 6, "part") == [ANN] * 6


def test_acting_for_a_user_ends_with_its_block() -> None:
    with acting_as(ANN), acting_as(None):
        assert acting_user() is None
    assert acting_user() is None


def test_a_list_of_names_has_users_and_groups() -> None:
    assert ANN.is_one_of(frozenset({"ann"}))
    assert ANN.is_one_of(frozenset({"@admins"}))
    assert not ANN.is_one_of(frozenset({"admins", "@ann", "ben"}))


@pytest.mark.parametrize("name", ["ann", "ann.b", "hbase/host.example@REALM", "_x", "7"])
def test_names_that_users_may_have(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "@admins", "ann,f", "a b", "a:b", "ann\n", "ä", "a" * 129, "a\0"])
def test_names_that_no_user_has(name: str) -> None:
    with pytest.raises(InvalidRequest, match="is no name of a user"):
        check_name(name)


def test_the_configuration_puts_users_into_groups() -> None:
    options = AuthOptions(superusers="ann, @admins", groups="admins = ben,carl ; readers=carl;")
    assert options.superuser_names() == {"ann", "@admins"}
    assert options.groups_of_users() == {"ben": {"admins"}, "carl": {"admins", "readers"}}


class Copied(str):
    """A text that says how often all of it was put into another one."""

    __slots__ = ("times",)

    def __repr__(self) -> str:
        self.times = getattr(self, "times", 0) + 1
        return super().__repr__()


def test_a_long_list_of_names_is_copied_only_into_the_message_about_it() -> None:
    names = ", ".join(f"user{number}" for number in range(100))
    superusers, groups = Copied(names), Copied(";".join(f"group{number} = ann" for number in range(100)))
    AuthOptions(superusers=superusers, groups=groups)
    assert not hasattr(superusers, "times")
    assert not hasattr(groups, "times")
    wrong = Copied(f"{names}, a b")
    with pytest.raises(InvalidConfiguration, match="'a b' is no name of a user"):
        AuthOptions(superusers=wrong)
    assert wrong.times == 1


@pytest.mark.parametrize(
    ("superusers", "groups", "words"),
    [
        ("ann b", "", "'ann b' is no name of a user"),
        ("@", "", "is no name of a group"),
        ("", "admins", "'admins' is no group: write GROUP = USER"),
        ("", "a = ann; a = ben", "the group a stands there twice"),
        ("", "a = @b", "groups hold users, not other groups"),
        ("", "a b = ann", "is no name of a group"),
    ],
)
def test_what_cannot_be_read_is_refused(superusers: str, groups: str, words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        AuthOptions(superusers=superusers, groups=groups)
