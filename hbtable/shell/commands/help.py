"""help [, 'command' | 'group']"""

from hbtable.shell import help_texts
from hbtable.shell.context import Context
from hbtable.shell.language.literals import Value, shown


def help_(context: Context, arguments: list[Value]) -> Value:
    say = context.out.say
    if not arguments:
        say(help_texts.overview())
        return None
    name = shown(arguments[0])
    text = help_texts.of_command(name)
    if text is not None:
        say(text)
        return None
    group = help_texts.groups().get(name)
    if group is not None:
        for command in group:
            say(f"Command: {command}")
            say(f"{help_texts.of_command(command)}\n")
        return None
    say(f"ERROR: Invalid command or command group name: {name}\n")
    say(help_texts.header())
    say(f"{help_texts.groups_text()}\n")
    return None
