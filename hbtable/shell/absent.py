"""HBase's commands that hbtable does not have, each with the reason in one line: worst would be an unknown word."""

from collections.abc import Callable
from typing import Final

from hbtable.shell.context import Context
from hbtable.shell.errors import ShellError
from hbtable.shell.literals import Value

_GROUPS: Final = {
    "hbtable does not replicate to other clusters": """
        add_peer append_peer_exclude_namespaces append_peer_exclude_tableCFs append_peer_namespaces append_peer_tableCFs
        disable_peer disable_table_replication enable_peer enable_table_replication get_peer_config list_peer_configs
        remove_peer remove_peer_exclude_namespaces remove_peer_exclude_tableCFs remove_peer_namespaces
        remove_peer_tableCFs set_peer_bandwidth set_peer_exclude_namespaces set_peer_exclude_tableCFs
        set_peer_namespaces set_peer_replicate_all set_peer_serial set_peer_tableCFs show_peer_tableCFs
        update_peer_config""",
    "hbtable has no quotas": """
        disable_exceed_throttle_quota disable_rpc_throttle enable_exceed_throttle_quota enable_rpc_throttle
        list_quota_snapshots list_quota_table_sizes list_snapshot_sizes set_quota""",
    "hbtable has no access control: keep its port on 127.0.0.1": "grant revoke",
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
    "hbtable begins a new log segment by itself": "wal_roll wal_roll_all hlog_roll",
    "slow requests are on the page /slow of server.http_port": """
        get_slowlog_responses get_largelog_responses clear_slowlog_responses""",
    "the master gives every tablet of an enabled table a server by itself": """
        rit""",
    "a tablet of an enabled table always has a server: move it, or disable the table": "unassign",
    "hbtable has no normalizer": "normalizer_switch normalizer_enabled normalize",
    "tablets split by their size; MAX_FILESIZE of a table sets it": "splitormerge_switch splitormerge_enabled",
    "the master collects garbage and finishes what was interrupted by itself": """
        catalogjanitor_switch catalogjanitor_enabled catalogjanitor_run cleaner_chore_switch cleaner_chore_enabled
        cleaner_chore_run""",
    "hbtable has no snapshots": "snapshot_cleanup_switch snapshot_cleanup_enabled",
    "compactions cannot be switched off": "compaction_switch",
    "compactions are counted in /metrics of server.http_port": "compaction_state",
    "blocks leave the cache by themselves": "clear_block_cache",
    "the master buries a dead server and keeps nothing of it": """
        list_deadservers list_unknownservers list_decommissioned_regionservers is_in_maintenance_mode""",
    "hbtable has no access control to tell of": "list_security_capabilities",
    "hbtable does not do this by command yet": """
        abort_procedure clear_compaction_queues clear_deadservers close_region compact_rs decommission_regionservers
        flush_master_store get_balancer_decisions get_balancer_rejections hbck_chore_run
        recommission_regionserver regioninfo trace""",
}  # fmt: skip
REASONS: Final = {name: reason for reason, names in _GROUPS.items() for name in names.split()}


def refuse(name: str) -> Callable[[Context, list[Value]], Value]:
    def run(_: Context, __: list[Value]) -> Value:
        raise ShellError(f"{name} is not there: {REASONS[name]}")

    return run
