"""`hbtable user add | remove | list | password | token`: the users of a server that runs or not, or of a cluster.

The list is changed where it is kept, not through the server: the first user is made before there is one who may. A
secret never stands on the command line, which every user of the machine can read: a password is typed or comes from
standard input, and a token is printed once.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import click

from hbtable.access.accounts import Account
from hbtable.access.passwords import PasswordHash, new_token
from hbtable.access.store import AccountFile, AccountNode, AccountStore
from hbtable.errors import InvalidRequest
from hbtable.switches import switches

Command = TypeVar("Command", bound=Callable[..., object])

_DAY_MILLIS: Final = 86_400_000
_KEPT: Final = (
    "{name} is removed. Permissions that were granted to {name} stay until they are revoked, and also the next user "
    "{name} has them: user_permission, user_permission '.*' and user_permission '@.*' in `hbtable shell` show them. "
    "What auth.superusers, auth.groups and auth.proxies say of the name stays, too."
)
_OPTIONS: Final = (
    click.option("--data", metavar="DIR", help="The server's folder, where it is not server.data."),
    click.option("--cluster", is_flag=True, help="Of the cluster that --config FILE names, in its ZooKeeper."),
    click.option("--config", "path", metavar="FILE", help="Configuration file (TOML), as the server's or the roles'."),
    click.option("-D", "define", multiple=True, metavar="SECTION.KEY=VALUE", help="Overrides one configuration key."),
)


def _place_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group()
def user() -> None:
    """Users who may come in where auth.enabled is set: passwords, and tokens for programs."""


@user.command()
@click.argument("name")
@click.option("--no-password", is_flag=True, help="Only tokens let this user in, or a certificate.")
@_place_options
@switches
def add(name: str, no_password: bool, **place: Any) -> None:
    """Adds the user NAME; the password is asked for, or is the first line of standard input."""
    with _store(**place) as store:
        store.read().with_user(name, None)  # the name is refused before anybody types
        chosen = None if no_password else _read_password(name)
        store.change(lambda accounts: accounts.with_user(name, chosen))


@user.command()
@click.argument("name")
@_place_options
@switches
def remove(name: str, **place: Any) -> None:
    """Removes the user NAME, with all tokens. Open connections of NAME are refused within a second; permissions of NAME
    stay until they are revoked."""
    with _store(**place) as store:
        store.change(lambda accounts: accounts.without_user(name))
    click.echo(_KEPT.format(name=name))


@user.command()
@click.argument("name")
@_place_options
@switches
def password(name: str, **place: Any) -> None:
    """Changes the password of NAME: it is asked for, or is the first line of standard input."""
    with _store(**place) as store:
        store.read().account(name)
        changed = _read_password(name)
        store.change(lambda accounts: accounts.with_password(name, changed))


@user.command()
@click.argument("name")
@click.option("--days", type=click.IntRange(1, 36500), default=365, show_default=True, help="Until it expires.")
@click.option("--revoke", metavar="ID", help="Ends the token with this id, instead of making one.")
@_place_options
@switches
def token(name: str, days: int, revoke: str | None, **place: Any) -> None:
    """Prints a new token for NAME, this once: it does what the password does, and ends by itself."""
    with _store(**place) as store:
        if revoke is not None:
            store.change(lambda accounts: accounts.without_token(name, revoke))
            return
        now = _now_millis()
        text, record = new_token(now + days * _DAY_MILLIS)
        store.change(lambda accounts: accounts.with_token(name, record, now))
    click.echo(text)


@user.command("list")
@_place_options
@switches
def list_users(**place: Any) -> None:
    """Prints each user, whether there is a password, and the ids of the tokens with the days on which they expire."""
    with _store(**place, looks_only=True) as store:
        accounts = store.read()
    for name in sorted(accounts.by_name):
        click.echo(_line(accounts.by_name[name], _now_millis()))


def _now_millis() -> int:
    from hbtable.runtime.gevent_runtime import GeventRuntime

    return GeventRuntime().wall_millis()


def _line(account: Account, now_millis: int) -> str:
    parts = ["password" if account.password else "no password"]
    for one in account.tokens:
        until = datetime.fromtimestamp(one.expires_millis / 1000, UTC).strftime("%Y-%m-%d")
        parts.append(f"token {one.token_id} {'expired' if one.has_expired(now_millis) else 'until'} {until}")
    return f"{account.name}: {', '.join(parts)}"


def _read_password(name: str) -> PasswordHash:
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        if not line:
            raise InvalidRequest("standard input has no password: write it there as one line")
        return PasswordHash.of(line.rstrip("\n"))
    first: str = click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt="The same again")
    return PasswordHash.of(first)


@contextlib.contextmanager
@switches
def _store(
    data: str | None, cluster: bool, path: str | None, define: tuple[str, ...], looks_only: bool = False
) -> Iterator[AccountStore]:
    if cluster:
        if data is not None:
            raise InvalidRequest(
                "--data is of a single server, and a cluster keeps its users in ZooKeeper: leave it out"
            )
        with _of_cluster(path, define, looks_only) as node:
            yield node
        return
    from hbtable.launch.config.sections import ServerOptions, read_configuration

    server = read_configuration(path, os.environ, define).options("server", ServerOptions)
    folder = os.path.abspath(data) if data else server.folder(os.environ)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InvalidRequest(f"{folder} is no folder: --data DIR is the data folder of the server")
    yield AccountFile(folder)


@contextlib.contextmanager
@switches
def _of_cluster(path: str | None, define: tuple[str, ...], looks_only: bool) -> Iterator[AccountNode]:
    from hbtable.launch.config.cluster_configuration import ClusterOptions, read_cluster_configuration
    from hbtable.launch.roles.lock_service import lock_service
    from hbtable.launch.roles.planted_nodes import refuse_strangers_users
    from hbtable.launch.roles.startup_checks import open_session
    from hbtable.runtime.gevent_runtime import GeventRuntime

    configuration = read_cluster_configuration(path, os.environ, define)
    where = configuration.options("cluster", ClusterOptions)
    session = open_session(lock_service(GeventRuntime(), configuration), "user", where.zookeeper)
    try:
        if looks_only:
            yield AccountNode(session)
            return
        refuse_strangers_users(session)
        yield AccountNode(session)
        refuse_strangers_users(session, written=True)
    finally:
        session.close()


COMMANDS: Final = (user,)
