"""The key by which a role proves itself to others, as the section [cluster] of the configuration says."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from hbtable.access.cluster_key_file import read_cluster_keys
from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration, Unavailable, UnsupportedFormat
from hbtable.launch.config.cluster_configuration import ClusterOptions
from hbtable.launch.roles.addresses import SERVER, KnownRole
from hbtable.rpc.connections import RpcConnectionPool, RpcOptions, Unproved, Unsent
from hbtable.rpc.proof import ClusterKey
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network import sockets
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches

_ASKED_AT_ONCE: Final = 32
log: Final = logging.getLogger(__name__)


def cluster_key(options: ClusterOptions, cluster_id: str) -> ClusterKey | None:
    """None when there is none. InvalidConfiguration."""
    if not options.key:
        return None
    return ClusterKey(read_cluster_keys(options.key), cluster_id, options.key_required)


def warn_of_key(options: ClusterOptions, auth: AuthOptions) -> None:
    """Logs that whoever reaches the port between roles can claim to be any user, if users are asked who they are."""
    if auth.enabled and not (options.key and options.key_required):
        missing = "cluster.key_required is false" if options.key else "cluster.key is not set"
        log.warning(
            "auth.enabled is set, and %s: whoever reaches the port for the other roles can call for any user", missing
        )


@switches
def check_key(
    runtime: Runtime,
    roles: Sequence[KnownRole],
    options: RpcOptions,
    key: ClusterKey | None,
    said: str,
    servers_enough: int = 0,
) -> None:
    """*Switches.* InvalidConfiguration when none of the roles and this process believe each other: a role would be one
    that nobody calls, and a command would wait for answers that never come. Roles that do not answer say nothing; who
    comes together with the master asks nobody else. `said`: what the configuration has as cluster.key.

    `servers_enough`: so many tablet servers have to refuse a role; 0: a command, which any refusal ends. With fewer of
    them it may be the others who have the wrong key: Unavailable where the master is one of these, else a warning."""
    refusals: list[_Refusal] = []
    for asked in ([one for one in roles if one.who != SERVER], [one for one in roles if one.who == SERVER]):
        together, refused = _asked(runtime, asked, options, key)
        refusals += refused
        if together:
            return _warn(refusals, said)
    by_servers = [one for one in refusals if one.who == SERVER]
    if refusals and len(by_servers) >= servers_enough:
        who, address, why = refusals[0]
        raise InvalidConfiguration(f"the {who} at {address} and this process do not come together: {why}; {said}")
    if len(by_servers) < len(refusals):
        who, address, why = refusals[0]
        raise Unavailable(
            f"the {who} at {address} and this process do not come together: {why}; {said}. Which of the two has the "
            "wrong key only tablet servers could say, and too few answer: start them, or end the one that is wrong, "
            "and try again"
        )
    return _warn(refusals, said)


@switches
def refusing(
    runtime: Runtime, roles: Sequence[KnownRole], options: RpcOptions, key: ClusterKey | None, said: str
) -> list[str]:
    """*Switches.* A sentence about each of the roles that does not come together with this process."""
    _, refusals = _asked(runtime, roles, options, key)
    return [
        f"the {who} at {address} and this process do not come together: {why}; {said}" for who, address, why in refusals
    ]


class _Refusal(NamedTuple):
    """A role that does not believe this process, or that this process does not believe."""

    who: str
    address: str
    why: str


def _warn(refusals: Sequence[_Refusal], said: str) -> None:
    for who, address, why in refusals:
        log.warning("the %s at %s and this process do not come together: %s; %s", who, address, why, said)


@switches
def _asked(
    runtime: Runtime, roles: Sequence[KnownRole], options: RpcOptions, key: ClusterKey | None
) -> tuple[bool, list[_Refusal]]:
    """Whether one of the roles and this process believe each other, and those who do not."""
    refusals: list[_Refusal] = []

    def comes_together(role: KnownRole) -> bool:
        pool = RpcConnectionPool(runtime, role.address, options, sockets.connect, key)
        try:
            connection, _ = pool.take(runtime.clock_seconds() + options.census_seconds, lambda: True)
            pool.drop(connection)
        except Unproved as error:
            refusals.append(_Refusal(*role, str(error)))
            return False
        except (Unsent, UnsupportedFormat):
            return False
        else:
            return True
        finally:
            pool.close()

    together = run_all(runtime, _ASKED_AT_ONCE, [partial(comes_together, role) for role in roles], "a look at the key")
    return True in together, sorted(refusals)
