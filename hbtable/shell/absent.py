"""HBase's commands that hbtable does not have, each with the reason in one line: worst would be an unknown word."""

from collections.abc import Callable
from typing import Final

from hbtable.shell.context import Context
from hbtable.shell.errors import ShellError
from hbtable.shell.language.literals import Value

_GROUPS: Final = {
    "hbtable does not replicate to other clusters": """
        add_peer append_peer_exclude_namespaces append_peer_exclude_tableCFs append_peer_namespaces append_peer_tableCFs
        disable_peer disable_table_replication enable_peer enable_table_replication get_peer_config list_peer_configs
        remove_peer remove_peer_exclude_namespaces remove_peer_exclude_tableCFs remove_peer_namespaces
        remove_peer_tableCFs set_peer_bandwidth set_peer_exclude_namespaces set_peer_exclude_tableCFs
        set_peer_namespaces set_peer_replicate_all set_peer_serial set_peer_tableCFs show_peer_tableCFs
        update_peer_config""",
    "in hbtable no quota may be exceeded": "disable_exceed_throttle_quota enable_exceed_throttle_quota",
    "hbtable has no visibility labels": "add_labels clear_auths get_auths set_auths set_visibility",
    "hbtable has no groups of servers": """
        add_rsgroup alter_rsgroup_config balance_rsgroup get_namespace_rsgroup get_rsgroup get_server_rsgroup
        get_table_rsgroup move_namespaces_rsgroup move_servers_namespaces_rsgroup move_servers_rsgroup
        move_servers_tables_rsgroup move_tables_rsgroup remove_rsgroup remove_servers_rsgroup rename_rsgroup
        show_rsgroup_config update_rsgroup_config""",
    "hbtable reads its configuration at start: change the file and restart the server": """
        update_all_config update_config""",
    "stop the server's process instead: SIGTERM drains it": "stop_master stop_regionserver",
    "hbtable has a single way to keep files": "change_sft change_sft_all",
    "hbtable remembers requests that were slow, not those that were large: get_slowlog_responses": """
        get_largelog_responses""",
    "a tablet of an enabled table always has a server: move it, or disable the table": "unassign close_region",
    "the master's collection of garbage cannot be switched off": "catalogjanitor_switch cleaner_chore_switch",
    "hbtable has no snapshots": "list_snapshot_sizes snapshot_cleanup_switch snapshot_cleanup_enabled",
    "hbtable does not do this by command yet": """
        abort_procedure clear_compaction_queues flush_master_store get_balancer_decisions
        get_balancer_rejections trace""",
}  # fmt: skip
REASONS: Final = {name: reason for reason, names in _GROUPS.items() for name in names.split()}


def refuse(name: str) -> Callable[[Context, list[Value]], Value]:
    def run(_: Context, __: list[Value]) -> Value:
        raise ShellError(f"{name} is not there: {REASONS[name]}")

    return run
