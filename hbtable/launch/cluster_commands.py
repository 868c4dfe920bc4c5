"""`hbtable master` and `hbtable tabletserver`: the roles of a cluster, each a process in the foreground.

Exit codes: 0 stopped in order; 1 something is in the way, the sentence says what; 2 misused; 3 the lock was lost, start
it again (which --supervised does).
"""

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from hbtable.launch.cluster_configuration import ListenOptions

_CONFIG: Final = click.option(
    "--config", "config_path", metavar="FILE", required=True, envvar="HBTABLE_CONFIG", help="See conf/cluster.toml."
)
_HOST: Final = click.option("--host", help="Address to listen on, instead of listen.host.")
_RPC_PORT: Final = click.option(
    "--rpc-port", type=click.IntRange(0, 65535), help="Port for the other roles; 0 picks a free one."
)
_HTTP_PORT: Final = click.option("--http-port", type=click.IntRange(0, 65535), help="Port of status pages; 0: none.")
_DEFINE: Final = click.option(
    "-D", "define", multiple=True, metavar="SECTION.KEY=VALUE", help="Overrides one configuration key."
)
_SUPERVISED: Final = click.option(
    "--supervised",
    is_flag=True,
    help="Runs the role as a child, ends its ZooKeeper session when it died, and starts it again.",
)


@click.command()
@_CONFIG
@_HOST
@_RPC_PORT
@_HTTP_PORT
@_DEFINE
@_SUPERVISED
def master(
    config_path: str,
    host: str | None,
    rpc_port: int | None,
    http_port: int | None,
    define: tuple[str, ...],
    supervised: bool,
) -> None:
    """Runs a master of a cluster; the second and further ones stand by until the first is gone."""
    from hbtable.launch import run_role
    from hbtable.launch.cluster_configuration import ListenOptions, read_cluster_configuration

    if supervised:
        sys.exit(run_role.run_supervised(sys.argv))
    configuration = read_cluster_configuration(config_path, os.environ, define)
    listen = _listen(configuration.options("listen", ListenOptions), host, http_port)
    if rpc_port is not None:
        listen = replace(listen, master_port=rpc_port)
    run_role.run_to_the_end(lambda: run_role.run_master(configuration, listen))


@click.command()
@_CONFIG
@_HOST
@click.option("--port", type=click.IntRange(0, 65535), help="Thrift port for clients; 0 picks a free one.")
@_RPC_PORT
@_HTTP_PORT
@_DEFINE
@_SUPERVISED
def tabletserver(
    config_path: str,
    host: str | None,
    port: int | None,
    rpc_port: int | None,
    http_port: int | None,
    define: tuple[str, ...],
    supervised: bool,
) -> None:
    """Runs a tablet server of a cluster, with a front door for HBase clients. SIGTERM drains it."""
    from hbtable.launch import run_role
    from hbtable.launch.cluster_configuration import ListenOptions, read_cluster_configuration

    if supervised:
        sys.exit(run_role.run_supervised(sys.argv))
    configuration = read_cluster_configuration(config_path, os.environ, define)
    listen = _listen(configuration.options("listen", ListenOptions), host, http_port)
    if port is not None:
        listen = replace(listen, thrift_port=port)
    if rpc_port is not None:
        listen = replace(listen, tabletserver_port=rpc_port)
    run_role.run_to_the_end(lambda: run_role.run_tabletserver(configuration, listen))


def _listen(given: "ListenOptions", host: str | None, http_port: int | None) -> "ListenOptions":
    if host is not None:
        given = replace(given, host=host)
    return given if http_port is None else replace(given, http_port=http_port)


COMMANDS: Final = (master, tabletserver)
