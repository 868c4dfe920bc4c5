"""balancer, balance_switch, balancer_enabled: regions spread evenly over servers."""

from hbtable.shell.commands.cluster.switches import is_true
from hbtable.shell.context import Context
from hbtable.shell.language.literals import Value


def balancer(context: Context, _: list[Value]) -> Value:
    return _answer(context, "balanced", bool(context.server.admin("adminBalance")))


def balance_switch(context: Context, arguments: list[Value]) -> Value:
    before = bool(context.server.admin("adminBalanceSwitch", is_true(arguments[0])))
    context.out.row((f"Previous balancer state : {str(before).lower()}",), {"previous": before})
    return before


def balancer_enabled(context: Context, _: list[Value]) -> Value:
    return _answer(context, "enabled", bool(context.server.admin("adminBalancerEnabled")))


def _answer(context: Context, title: str, value: bool) -> bool:
    context.out.row((str(value).lower(),), {title: value})
    return value
