"""`hbtable master`, `hbtable tabletserver` and `hbtable thrift`: a cluster's roles, each a process in the foreground.
And `hbtable cluster-key`.

Exit codes: 0 stopped in order; 1 something is in the way, the message says what; 2 misused; 3 the lock was lost, start
it again (which --supervised does).
"""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NoReturn, TypeVar

import click

from hbtable.switches import switches

Command = TypeVar("Command", bound=Callable[..., object])

INSECURE_HELP: Final = "Starts although other machines reach it and nobody asks who they are, or without TLS."
_OPTIONS: Final = (
    click.option(
        "--config", "path", metavar="FILE", required=True, envvar="HBTABLE_CONFIG", help="See conf/cluster.toml."
    ),
    click.option("--host", help="Address to listen on, instead of listen.host."),
    click.option("--http-port", type=click.IntRange(0, 65535), help="Port of status pages; 0: none."),
    click.option("-D", "define", multiple=True, metavar="SECTION.KEY=VALUE", help="Overrides one configuration key."),
    click.option("--insecure", is_flag=True, help=INSECURE_HELP),
    click.option(
        "--supervised",
        is_flag=True,
        help="Runs the role as a child, ends its ZooKeeper session when it died, and starts it again.",
    ),
)


def _role_options(command: Command) -> Command:
    """Those of every role."""
    for option in reversed(_OPTIONS):  # decorators nest: the first to be shown is the last to be put on
        command = option(command)
    return command


_RPC_PORT: Final = click.option(
    "--rpc-port", type=click.IntRange(0, 65535), help="Port for the other roles; 0 picks a free one."
)
_THRIFT_PORT: Final = click.option(
    "--port", type=click.IntRange(0, 65535), help="Thrift port for clients; 0 picks a free one."
)


@click.command()
@_RPC_PORT
@_role_options
@switches
def master(rpc_port: int | None, **given: Any) -> None:
    """Runs a master of a cluster; the second and further ones stand by until the first is gone."""
    _run("master", given, master_port=rpc_port)


@click.command()
@_THRIFT_PORT
@_RPC_PORT
@_role_options
@switches
def tabletserver(port: int | None, rpc_port: int | None, **given: Any) -> None:
    """Runs a tablet server of a cluster, with a gateway for HBase clients. SIGTERM drains it."""
    _run("tabletserver", given, thrift_port=port, tabletserver_port=rpc_port)


@click.command()
@_THRIFT_PORT
@_role_options
@switches
def thrift(port: int | None, **given: Any) -> None:
    """Runs a gateway of a cluster for HBase clients, without tablets: any number of them stand behind a balancer.

    SIGTERM drains it: /readyz says so at once, clients are served until they have gone, for the times of the section
    gateway."""
    _run("thrift", given, thrift_port=port)


@switches
def _run(role: str, given: dict[str, Any], **ports: int | None) -> NoReturn:
    """`given`: by the name of the option; `ports`: by the key of [listen] that one overrides."""
    from hbtable.launch.config.cluster_configuration import ListenOptions, read_cluster_configuration
    from hbtable.launch.roles import run as run_role

    configuration = read_cluster_configuration(given["path"], os.environ, given["define"])
    if given["supervised"]:
        sys.exit(run_role.run_supervised(role, configuration, sys.argv))
    wanted: dict[str, Any] = {"host": given["host"], "http_port": given["http_port"], **ports}
    overrides = {key: value for key, value in wanted.items() if value is not None}
    listen = replace(configuration.options("listen", ListenOptions), **overrides)
    run_role.run_to_the_end(role, configuration, listen, given["insecure"])


@click.command("cluster-key")
@click.argument("file", type=click.Path(dir_okay=False))
def cluster_key(file: str) -> None:
    """Makes FILE with a new key, by which a cluster's roles prove to each other that they belong to it.

    cluster.key names the file, on each machine of the cluster; only its owner may read it.
    """
    from hbtable.access.cluster_key_file import make_cluster_key

    make_cluster_key(file)


COMMANDS: Final = (master, tabletserver, thrift, cluster_key)
