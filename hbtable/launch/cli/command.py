"""The command line: `hbtable start | demo | check | repair | config | version`, and those of cluster_commands.py,
shell_commands.py, transfer_commands.py and user_commands.py.

Exit codes: 0 fine, 1 the thing itself failed (a damaged file, a port in use), 2 the command was misused; those of
`check` are its own. Heavy imports wait inside the commands, so that `hbtable --help` answers at once.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

import click

from hbtable.errors import HbtableError, InvalidConfiguration, InvalidRequest
from hbtable.launch.cli import (
    bench_command,
    cluster_commands,
    shadow_command,
    shell_commands,
    sql_command,
    transfer_commands,
    user_commands,
)
from hbtable.launch.standard_streams import fail_to_write_where_closed
from hbtable.switches import switches

_Function = Callable[..., None]

_OWNER_ALONE: Final = 0o077
_OF_DATA_FOLDERS: Final = ("start", "demo", "check", "repair", "master", "tabletserver", "thrift")
"""Commands that make files in data folders, where the owner's group may be let in. All others make files of what is in
tables, or of secrets, wherever they are told, and nobody but their owner may read those, whatever the umask."""

_SERVES: Final = ("start", "demo", "master", "tabletserver", "thrift", "shadow")
"""Commands that serve, whether somebody reads their lines or not."""

_INTERRUPTED: Final = 130
"""Of shells: ended by Ctrl-C."""

DEFINE_HELP: Final = "Overrides one configuration key: SECTION.KEY=VALUE. May be given several times."


def _leave_what_cannot_be_written() -> None:
    """So that the exit does not try it again."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = None


class _Messages(click.Group):
    """Shows every error of ours as one message, never as a trace."""

    def invoke(self, context: click.Context) -> object:
        try:
            try:
                return super().invoke(context)
            finally:
                if sys.stdout is not None:  # None: nobody reads any more, and that was told
                    sys.stdout.flush()
        except InvalidConfiguration as error:
            click.echo(f"hbtable: {error}", err=True)
            sys.exit(2)
        except HbtableError as error:
            click.echo(f"hbtable: {error}", err=True)
            sys.exit(1)
        except BrokenPipeError:
            raise  # click ends quietly
        except OSError as error:
            _leave_what_cannot_be_written()
            click.echo(f"hbtable: {error.filename or 'the answer'}: {error.strerror or error}", err=True)
            sys.exit(1)
        except KeyboardInterrupt:
            click.echo(f"hbtable {context.invoked_subcommand}: broken off", err=True)
            sys.exit(_INTERRUPTED)


def _print_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """`--version`: what `hbtable version` says."""
    if asked:
        context.invoke(version)
        context.exit()


@click.group(cls=_Messages, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="As `hbtable version`."
)
@click.pass_context
def main(context: click.Context) -> None:
    """Bigtable in Python behind HBase's Thrift interface."""
    if context.invoked_subcommand not in _SERVES:
        fail_to_write_where_closed()
    if context.invoked_subcommand not in _OF_DATA_FOLDERS:
        before = os.umask(_OWNER_ALONE)
        os.umask(before | _OWNER_ALONE)
        context.call_on_close(partial(os.umask, before))


for _command in (
    *cluster_commands.COMMANDS,
    *shell_commands.COMMANDS,
    *transfer_commands.COMMANDS,
    *sql_command.COMMANDS,
    *bench_command.COMMANDS,
    *shadow_command.COMMANDS,
    *user_commands.COMMANDS,
):
    main.add_command(_command)


@main.command()
def version() -> None:
    """Prints the version, the commit that it was built from, and the date of its files."""
    from hbtable.shell.version import version_line

    click.echo(f"hbtable {version_line()}")


@main.command()
@click.option("--data", metavar="DIR", help="Where everything is kept. Default: ~/.local/share/hbtable.")
@click.option("--port", type=click.IntRange(0, 65535), help="Thrift port; 0 picks a free one. Default: 9090.")
@click.option("--host", help="Address to listen on. Default: 127.0.0.1, this machine alone.")
@click.option("--config", "config_path", metavar="FILE", help="Configuration file (TOML); see conf/hbtable.toml.")
@click.option("-D", "define", multiple=True, metavar="SECTION.KEY=VALUE", help=DEFINE_HELP)
@click.option("--insecure", is_flag=True, help=cluster_commands.INSECURE_HELP)
@click.option("--servers", metavar="N", help="Server processes behind the one port; auto: a core each. Default: 1.")
@switches
def start(
    data: str | None,
    port: int | None,
    host: str | None,
    config_path: str | None,
    define: tuple[str, ...],
    insecure: bool,
    servers: str | None,
) -> None:
    """Starts a durable server in the foreground; SIGTERM or Ctrl-C drains and stops it."""
    from hbtable.launch import serve
    from hbtable.launch.config.sections import ServerOptions, read_configuration

    configuration = read_configuration(config_path, os.environ, define)
    if servers is None:
        sys.exit(serve.run(configuration, data, host, port, insecure=insecure))
    from hbtable.launch.servers import launcher

    options = configuration.options("server", ServerOptions).overridden(data, host, port)
    count = launcher.server_count(servers)
    sys.exit(launcher.run(configuration, options, count, config_path, define, insecure))


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=9090, show_default=True, help="Thrift port.")
@click.option("--stop", is_flag=True, help="Ends when the table is loaded, instead of serving it.")
@switches
def demo(port: int, stop: bool) -> None:
    """Serves the paper's Webtable, made of real HTML pages, from a temporary folder."""
    from hbtable.launch.cli.demo import run_demo

    sys.exit(run_demo(port, stop))


def _of_cluster(command: _Function) -> _Function:
    """Options that name a cluster instead of a folder."""
    options = (
        click.option(
            "--config", "config_path", metavar="FILE", help="A cluster's configuration file, as of its roles."
        ),
        click.option("-D", "define", multiple=True, metavar="SECTION.KEY=VALUE", help=DEFINE_HELP),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _check_one(folder: str | None, config_path: str | None) -> None:
    if (folder is None) == (config_path is None):
        raise InvalidRequest("give one of the two: the folder of a single server, or --config FILE of a cluster")


class _Checking(click.Command):
    """Exit code 2 of `hbtable check` means a folder that no server can serve."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        try:
            return super().parse_args(context, arguments)
        except click.UsageError as error:
            error.show()
            context.exit(3)


@main.command(cls=_Checking)
@click.argument("folder", metavar="[DIR]", required=False)
@_of_cluster
@click.option("--json", "as_json", is_flag=True, help="Prints one JSON object instead of sentences.")
@switches
def check(folder: str | None, config_path: str | None, define: tuple[str, ...], as_json: bool) -> None:
    """Reads every file below DIR, the stopped folder of a single server, or of the cluster that --config names, which
    may serve meanwhile. Says what is damaged, what hangs on it, and what to do. Changes nothing.

    Exit codes: 0 sound, 1 damaged and what is sound is served, 2 no server can serve it, 3 it could not be checked: in
    use, no data folder, of a newer hbtable, or the command was misused.
    """
    from hbtable.launch.cli.check import NOT_CHECKED, check_folder

    try:
        _check_one(folder, config_path)
        if config_path is None:
            sys.exit(check_folder(folder or "", as_json))
        from hbtable.launch.cli.cluster_check import check_cluster

        sys.exit(check_cluster(config_path, define, as_json))
    except HbtableError as error:
        click.echo(f"hbtable: {error}", err=True)
        sys.exit(NOT_CHECKED)


@main.command()
@click.argument("folder", metavar="[DIR]", required=False)
@_of_cluster
@click.option("--dry-run", is_flag=True, help="Says what would be done and lost, and changes nothing.")
@click.option("--backup", metavar="DIR2", help="Where what is changed is kept. Default: DIR/repair-backup-<time>.")
@click.option(
    "--lock-service-lost", is_flag=True, help="Of a cluster: ZooKeeper has lost it, and no role runs anywhere."
)
@click.option(
    "--withhold", type=int, multiple=True, metavar="TABLET", help="Nobody serves this tablet any more; its files stay."
)
@click.option("--release", type=int, multiple=True, metavar="TABLET", help="A withheld tablet is mended and served.")
@switches
def repair(
    folder: str | None,
    config_path: str | None,
    define: tuple[str, ...],
    dry_run: bool,
    backup: str | None,
    lock_service_lost: bool,
    withhold: tuple[int, ...],
    release: tuple[int, ...],
) -> None:
    """Mends the stopped data folder DIR, or the folder and the lock service of the cluster that --config names, of
    which every role must be down. Then `hbtable check` finds nothing and a server serves it. Nothing is deleted: what
    is changed is kept in the backup.

    A tablet, by the number that messages give it, may be withheld from everybody, as long as it is not clear what
    becomes of it: everything else is served, and the repair leaves its files as they are.

    What could not be brought back is listed as LOST. Exit codes: 0 nothing was lost, 1 something was, or it failed.
    """
    _check_one(folder, config_path)
    from hbtable.repair.withholding import WithholdingOrders

    orders = WithholdingOrders(withhold, release)
    if config_path is None:
        from hbtable.launch.cli.repair import repair_folder

        if lock_service_lost:
            raise InvalidRequest("--lock-service-lost is of a cluster: leave it out, or give --config FILE")
        sys.exit(repair_folder(folder or "", dry_run, backup, orders))
    from hbtable.launch.cli.cluster_repair import repair_cluster

    if backup is not None:
        raise InvalidRequest("a cluster's backup lies in its own folder, below repair-backups: leave --backup out")
    sys.exit(repair_cluster(config_path, define, dry_run, lock_service_lost, orders))


@main.command()
@click.option("--config", "config_path", metavar="FILE", help="Configuration file (TOML).")
@click.option("-D", "define", multiple=True, metavar="SECTION.KEY=VALUE", help=DEFINE_HELP)
@click.option("--cluster", is_flag=True, help="Of a cluster's roles, instead of the single server.")
@click.option("--example", is_flag=True, help="Prints a configuration file with every key, commented, instead.")
def config(config_path: str | None, define: tuple[str, ...], cluster: bool, example: bool) -> None:
    """Prints every configuration key, its value in effect and where that came from."""
    from hbtable.launch.config import cluster_configuration, example_configuration, sections

    if example:
        text = cluster_configuration.example_file() if cluster else example_configuration.example(sections.SECTIONS)
        click.echo(text, nl=False)
        return
    read = cluster_configuration.read_cluster_configuration if cluster else sections.read_configuration
    for section, key, value, origin in read(config_path, os.environ, define).effective():
        click.echo(f"{section}.{key} = {value!r}  ({origin})")
