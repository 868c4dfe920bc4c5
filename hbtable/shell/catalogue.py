"""All commands by name: which module carries a command out, how many arguments it takes. Nothing is imported until it
is used, so that a one-command shell loads one command.

An entry is `name module function min..max`; no max: any number. HBase's other commands are in absent.py.
"""

import difflib
import importlib
from collections.abc import Callable
from typing import Final, NamedTuple, final

from hbtable.shell import absent
from hbtable.shell.context import Context
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value

Run = Callable[[Context, list[Value]], Value]


class Entry(NamedTuple):
    """Where a command is, and its arity. `most` -1: any number."""

    module: str
    function: str
    least: int
    most: int


_TABLE: Final = """
get get get 2..
put put put 4..6
append counters append 4..5
incr counters incr 3..5
get_counter counters get_counter 3..3
delete delete delete 3..5
deleteall delete deleteall 2..5
scan scan scan 1..2
count count count 1..2
get_splits regions get_splits 1..1
truncate truncate truncate 1..1
truncate_preserve truncate truncate_preserve 1..1
create create create 1..
alter alter alter 1..
alter_async alter alter_async 1..
alter_status alter alter_status 1..1
clone_table_schema create clone_table_schema 2..3
describe describe describe 1..1
desc describe describe 1..1
get_all_columns describe get_all_columns 1..1
disable states disable 1..1
enable states enable 1..1
drop states drop 1..1
exists states exists 1..1
is_enabled states is_enabled 1..1
is_disabled states is_disabled 1..1
disable_all many disable_all 1..1
enable_all many enable_all 1..1
drop_all many drop_all 1..1
get_table references get_table 1..
list listing list_tables 0..1
list_enabled_tables listing list_enabled 0..0
list_disabled_tables listing list_disabled 0..0
show_filters listing show_filters 0..0
locate_region regions locate_region 2..2
list_regions regions list_regions 1..3
create_namespace namespaces create 1..
alter_namespace namespaces alter 1..
describe_namespace namespaces describe 1..1
drop_namespace namespaces drop 1..1
list_namespace namespaces list_namespaces 0..1
list_namespace_tables namespaces list_tables 1..1
flush storage flush 1..2
compact storage compact 1..3
major_compact storage major_compact 1..3
compact_rs storage compact_rs 1..2
compaction_switch storage compaction_switch 1..2
compaction_state storage compaction_state 1..1
split storage split 1..2
merge_region moving merge_region 0..
regioninfo moving regioninfo 1..1
rit moving rit 0..0
move moving move 1..2
balancer balance balancer 0..1
balance_switch balance balance_switch 1..1
balancer_enabled balance balancer_enabled 0..0
splitormerge_switch switches splitormerge_switch 2..2
splitormerge_enabled switches splitormerge_enabled 1..1
assign moving assign 1..1
reopen_regions moving reopen_regions 1..2
status status status 0..2
list_liveservers servers list_liveservers 0..0
list_deadservers servers list_deadservers 0..0
list_unknownservers servers list_unknownservers 0..0
list_decommissioned_regionservers servers list_decommissioned_regionservers 0..0
decommission_regionservers servers decommission_regionservers 1..2
recommission_regionserver servers recommission_regionserver 1..2
clear_deadservers servers clear_deadservers 0..
catalogjanitor_run chores catalogjanitor_run 0..0
catalogjanitor_enabled chores always_on 0..0
cleaner_chore_run chores cleaner_chore_run 0..0
cleaner_chore_enabled chores always_on 0..0
hbck_chore_run chores hbck_chore_run 0..0
is_in_maintenance_mode chores never 0..0
clear_block_cache chores clear_block_cache 1..1
get_slowlog_responses slow_requests get_slowlog_responses 1..2
clear_slowlog_responses slow_requests clear_slowlog_responses 0..1
wal_roll servers wal_roll 1..1
hlog_roll servers wal_roll 1..1
wal_roll_all servers wal_roll_all 0..0
zk_dump servers zk_dump 0..0
snapshot snapshots snapshot 2..
list_snapshots snapshots list_snapshots 0..1
list_table_snapshots snapshots list_table_snapshots 1..2
clone_snapshot snapshots clone_snapshot 2..3
restore_snapshot snapshots restore_snapshot 1..2
delete_snapshot snapshots delete_snapshot 1..1
delete_all_snapshot snapshots delete_all_snapshot 1..1
delete_table_snapshots snapshots delete_table_snapshots 1..2
list_quotas nothing list_quotas 0..1
list_peers nothing list_peers 0..0
list_replicated_tables nothing list_replicated_tables 0..1
list_procedures nothing list_procedures 0..0
list_locks nothing list_locks 0..0
list_rsgroups nothing list_rsgroups 0..1
list_labels nothing list_labels 0..1
processlist nothing processlist 0..
user_permission nothing user_permission 0..1
list_security_capabilities general list_security_capabilities 0..0
version general version 0..0
whoami general whoami 0..0
table_help general table_help 0..0
sleep general sleep 0..1
help help help_ 0..1
exit general exit_ 0..1
quit general quit_ 0..1
puts general puts 0..
print general print_ 0..
p general p 0..
debug general debug 0..0
debug? general is_debugging 0..0
"""
ENTRIES: Final[dict[str, Entry]] = {}
for _line in _TABLE.split("\n"):
    if _line:
        _name, _module, _function, _arity = _line.split()
        _least, _, _most = _arity.partition("..")
        ENTRIES[_name] = Entry(_module, _function, int(_least), int(_most) if _most else -1)

UNTIMED: Final = frozenset(
    ("help", "exit", "quit", "sleep", "puts", "get_all_columns", "print", "p", "debug", "debug?")
)
"""Not commands of HBase's but words of its language: no Took line."""


@final
class Catalogue:
    """Looks commands up."""

    def knows(self, name: str) -> bool:
        return name in ENTRIES or name in absent.REASONS

    def names(self) -> list[str]:
        return sorted({*ENTRIES, *absent.REASONS})

    def like(self, name: str) -> list[str]:
        """For `did you mean`."""
        return difflib.get_close_matches(name, self.names(), 3, 0.7)

    def find(self, name: str, given: int) -> Run:
        """ArgumentError for a wrong number of arguments."""
        entry = ENTRIES.get(name)
        if entry is None:
            return absent.refuse(name)
        if given < entry.least or (entry.most >= 0 and given > entry.most):
            raise ArgumentError(f"wrong number of arguments (given {given}, expected {_arity_text(entry)})")
        module = importlib.import_module(f"hbtable.shell.commands.{entry.module}")
        run: Run = getattr(module, entry.function)
        return run


def _arity_text(entry: Entry) -> str:
    if entry.most < 0:
        return f"{entry.least}+"
    return str(entry.least) if entry.least == entry.most else f"{entry.least}..{entry.most}"
