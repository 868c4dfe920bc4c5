"""version, whoami, table_help, and the words that are no commands: exit, quit, sleep, puts, p, print, debug."""

import os

from hbtable import __version__
from hbtable.hbase.admin.structs import AdminUser
from hbtable.shell.arguments.options import whole
from hbtable.shell.context import Context
from hbtable.shell.errors import Leave
from hbtable.shell.language.literals import Value, inspect, shown
from hbtable.shell.version import version_line


def version(context: Context, _: list[Value]) -> Value:
    line = version_line()
    context.out.row((line,), {"version": __version__, "text": line})
    return None


def whoami(context: Context, _: list[Value]) -> Value:
    known: AdminUser = context.server.admin("adminWhoAmI")
    user, groups = (known.name, known.groups or []) if known.name else _user_of_process()
    if context.out.wants_records:
        context.out.row((), {"user": user, "auth": "SIMPLE", "groups": groups})
        return None
    context.out.say(f"{user} (auth:SIMPLE)")
    if groups:
        context.out.say(f"    groups: {', '.join(groups)}")
    return None


def _user_of_process() -> tuple[str, list[str]]:
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    groups = []
    for number in os.getgroups() or [os.getgid()]:
        try:
            groups.append(grp.getgrgid(number).gr_name)
        except KeyError:
            groups.append(str(number))
    return user, groups


def list_security_capabilities(context: Context, _: list[Value]) -> Value:
    """HBase's words."""
    known: AdminUser = context.server.admin("adminWhoAmI")
    words = ["AUTHORIZATION", "SIMPLE_AUTHENTICATION"] if known.name else ["SIMPLE_AUTHENTICATION"]
    for word in words:
        context.out.row((word,), {"capability": word})
    return [word.encode() for word in words]


def table_help(context: Context, _: list[Value]) -> Value:
    from hbtable.shell.help_texts import of_command

    context.out.say(of_command("table_help") or "")
    return None


def exit_(_: Context, arguments: list[Value]) -> Value:
    raise Leave(whole(arguments[0], "an exit status") if arguments and arguments[0] is not None else 0)


def quit_(_: Context, __: list[Value]) -> Value:
    raise Leave(0)


def sleep(context: Context, arguments: list[Value]) -> Value:
    seconds = arguments[0] if arguments else 0
    if isinstance(seconds, (int, float)):
        context.out.flush()
        context.sleep(float(seconds))
    return seconds


def p(context: Context, arguments: list[Value]) -> Value:
    for argument in arguments:
        context.out.say(inspect(argument))
    return arguments[0] if len(arguments) == 1 else arguments or None


def print_(context: Context, arguments: list[Value]) -> Value:
    """With a line end, which Ruby leaves out."""
    context.out.say("".join(map(shown, arguments)))
    return None


def debug(context: Context, _: list[Value]) -> Value:
    """Errors are messages here, and there is no trace behind them to be shown."""
    context.out.note("hbtable's shell has no debug mode: its errors have no trace")
    return is_debugging(context, [])


def is_debugging(context: Context, _: list[Value]) -> Value:
    context.out.say("Debug mode is OFF\n")
    return None


def puts(context: Context, arguments: list[Value]) -> Value:
    for argument in arguments or [b""]:
        if isinstance(argument, list) and argument:
            puts(context, argument)
        else:
            context.out.say("" if argument == [] else shown(argument))
    return None
