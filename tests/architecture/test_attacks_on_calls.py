"""Says which calls no attack is made with. A call that comes is attacked by itself where a list or a map is among its
arguments (make hub-stretches makes each of them very long), is put into an attack of `make hostile`, or into this list
with the reason why a hostile client gains nothing by it."""

import ast
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.test_generated_calls import CALLS, ROOT, words_of
from tests.campaigns.hostile import ATTACKS
from tests.harness.attackers import KINDS
from tests.harness.wide_arguments import wide_calls
from tests.harness.wide_calls import CALLS as WIDE

INTERFACES: Final = {"Thrift1": "thrift1", "Thrift2": "thrift2", "admin service": "admin"}
ATTACKING: Final = [ROOT / f"tests/{name}.py" for name in ("harness/attackers", "harness/wide_calls")]
BETWEEN_ROLES: Final = [ROOT / "tests/campaigns/hub_stretches.py"]

_HAPPYBASE = "happybase's row, rows, counter_inc and scan make it in attacks, under their own names"
_SMALL = "a few names and numbers ask for one row, cell, scanner or table, and what it costs is bounded as a get is"
_OF_ALL = "a line for each table, tablet, server or namespace, of which `tablets` makes 5,000"
_OPERATORS = "an operator's: whoever has the right to it may stop the servers as well"
_SAME = "what Thrift2's or the admin service's call of the same name asks the tablet for, which is attacked"
_BETWEEN = "roles alone call it, with what they hold themselves"

LEFT_OUT: Final[dict[str, dict[str, str]]] = {
    "Thrift1": {
        _HAPPYBASE: "atomicIncrement deleteTable disableTable majorCompact",
        _SMALL: "checkAndPut deleteAll deleteAllRowTs deleteAllTs enableTable getClusterId getColumnDescriptors "
        "getRegionInfo getRowTs getThriftServerType getVer getVerTs isTableEnabled scannerGet",
        _OF_ALL: "getTableNamesWithIsTableEnabled getTableRegions",
        _OPERATORS: "grant revoke",
    },
    "Thrift2": {
        _SMALL: "closeScanner deleteColumnFamily deleteTable disableTable enableTable getClusterId getRegionLocation "
        "getScannerRows getTableDescriptor getThriftServerType isTableAvailable isTableDisabled isTableEnabled "
        "tableExists truncateTable",
        _OF_ALL: "getAllRegionLocations getNamespaceDescriptor getTableDescriptorsByNamespace "
        "getTableDescriptorsByPattern getTableNamesByNamespace getTableNamesByPattern listNamespaceDescriptors "
        "listNamespaces",
        _OPERATORS: "deleteNamespace",
    },
    "admin service": {
        _SMALL: "adminCompact adminCompactionState adminFlush adminIsOn adminNamespace adminSplit adminTable "
        "adminTruncateTable adminWhoAmI",
        _OF_ALL: "adminDeadServers adminDecommissioned adminGrants adminNamespaces adminQuotas adminSlowRequests "
        "adminSpaceUsage adminStatus adminTables adminTabletHistory adminTablets adminTransitions adminUnknownServers",
        _OPERATORS: "adminBalance adminBalanceSwitch adminBalancerEnabled adminClearBlockCache adminClearSlowRequests "
        "adminCompactServer adminDeleteNamespace adminGrant adminMove adminNormalizerEnabled adminNormalizerSwitch "
        "adminRecommission adminRevoke adminRunCatalogJanitor adminRunCleaner adminRunRepair adminSetQuotaExemption "
        "adminSetSpaceLimit adminSetThrottle adminSetThrottling adminSwitch adminThrottlingEnabled",
    },
    "tablets": {
        _SAME: "delete_range mutate_if scan_with_times",
        _OPERATORS: "clear_block_cache compact family_usage flush roll_log switch_compactions",
        _BETWEEN: "files_in_flight load_tablet ping served_changes served_record sort_log_part tablets task_deaths "
        "unload_tablet update_schema valid_from_now",
        "what Thrift2's increment asks the tablet for, which is attacked": "add_to_columns",
        "they carry calls of clients, which a gateway has decoded, and which are attacked": "relay_read relay_write",
    },
    "master": {
        _SMALL: "alter_table enable_table truncate_table",
        _OF_ALL: "quotas space_usage",
        _OPERATORS: "alter_namespace balance balance_switch balancer_enabled collect_garbage create_namespace "
        "decommission delete_namespace look_at_everything merge_tablets move_tablet normalize normalizer_enabled "
        "normalizer_switch recommission set_quota_exemption set_space_limit set_throttle set_throttling "
        "throttling_enabled",
        _BETWEEN: "balancer_rests master_task_deaths ping_master",
    },
}


def attacked(door: str) -> set[str]:
    if door in INTERFACES:
        long = {one.method for one in wide_calls(1) if one.service == INTERFACES[door] and one.words != "nothing"}
        return long | words_of(ATTACKING) | _texts(ATTACKING)
    return words_of(BETWEEN_ROLES)


def _texts(paths: list[Path]) -> set[str]:
    """The bytes in the code: attackers encode calls themselves."""
    nodes = chain.from_iterable(ast.walk(ast.parse(path.read_text())) for path in paths)
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {value.decode("latin-1") for value in values if isinstance(value, bytes)}


@pytest.mark.parametrize("door", [*INTERFACES, "tablets", "master"])
def test_every_call_is_in_an_attack_or_left_out_for_a_reason(door: str) -> None:
    left_out = sorted(chain.from_iterable(names.split() for names in LEFT_OUT[door].values()))
    assert sorted(CALLS[door] - attacked(door)) == left_out


def test_every_attack_is_made() -> None:
    made = {one.kind for one in ATTACKS}
    assert made == {*KINDS, *WIDE}
    assert "mutateRowMaybe" not in attacked("Thrift1")
