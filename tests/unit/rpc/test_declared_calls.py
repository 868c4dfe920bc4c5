"""What a declaration makes: calls that are passed on with all their arguments, messages as ever, interface files."""

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pytest

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.hbase.relays.relayed_calls import RelayedCalls
from hbtable.master.service import MasterCalls
from hbtable.model.additions import INCREMENT
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.status import CacheEviction, Collection, ServedChanges, ServedTablet, TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.codec.calls import METHODS, Role
from hbtable.rpc.declaration import ADDED, CallTimeout, Service, call, calls_of, type_of
from hbtable.rpc.services import MasterService, RelayService, ServerName, TableName, TabletAdmin, TabletService
from hbtable.tabletserver.server import TabletServer
from hbtable.tabletserver.tabletserver_admin import TabletServerAdmin
from tests.harness import interface_files

RECORDED = Path(__file__).with_name("recorded_calls.json")
RECORD = TabletRecord(3, 4, RowRange(b"a", b"b"), 77, "s1")
SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f")})
MUTATION = RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")], False, 0)
ARGUMENTS = {
    "mutate": [(7, [MUTATION]), (7, [])],
    "read_rows": [(7, [b"r"], EVERYTHING)],
    "scan": [(7, ScanRequest())],
    "scan_with_times": [(7, ScanRequest(), {b"f": (3, 9)})],
    "increment": [(7, b"r", b"f", b"q", -5, 0)],
    "append": [(7, b"r", [(b"f", b"q", b"s")], 0, 0)],
    "check_and_mutate": [(7, b"r", b"f", b"q", None, MUTATION, 0), (7, b"r", b"f", b"q", b"", MUTATION, 0)],
    "mutate_if": [
        (7, b"r", ReadSpec({b"f": frozenset((b"q",))}, 3, 9), "<=", b"v", MUTATION, 0),
        (7, b"r", EVERYTHING, "", None, MUTATION, 5),
    ],
    "add_to_columns": [(7, RowMutation(b"r", [(INCREMENT, b"f", b"q", SERVER_TIME, bytes(8))], False, 0))],
    "relay_read": [(7, b"call")],
    "relay_write": [(7, b"call"), (7, b"")],
    "load_tablet": [(1, RECORD, SCHEMA)],
    "unload_tablet": [(1, 2)],
    "update_schema": [(1, 2, SCHEMA)],
    "sort_log_part": [(1, "dead", b"part")],
    "flush": [(1,)],
    "compact": [(1, True, b""), (1, False, b"f")],
    "roll_log": [()],
    "family_usage": [(b"t",), (b"",)],
    "switch_compactions": [(True,)],
    "split": [(1, None), (1, b"")],
    "tablets": [(-1,), (16,)],
    "served_changes": [(0,), (7,)],
    "served_record": [(7,)],
    "files_in_flight": [()],
    "clear_block_cache": [(5,)],
    "task_deaths": [()],
    "ping": [()],
    "create_table": [(SCHEMA, (), ""), (SCHEMA, [b"a", b"b"], "")],
    "delete_table": [(b"t",)],
    "enable_table": [(b"t",)],
    "disable_table": [(b"t",)],
    "alter_table": [(SCHEMA,)],
    "truncate_table": [(b"t", False)],
    "move_tablet": [(b"t", 5, "")],
    "merge_tablets": [(b"t", [1, 2])],
    "balance": [()],
    "balance_switch": [(True,)],
    "balancer_enabled": [()],
    "normalize": [([b"t", b"n:u"],)],
    "normalizer_switch": [(True,)],
    "normalizer_enabled": [()],
    "decommission": [(["s", "\udcff"], True)],
    "recommission": [("s",)],
    "collect_garbage": [()],
    "look_at_everything": [()],
    "create_namespace": [(b"n", {"a": "b", "A": "c"})],
    "alter_namespace": [(b"n", {})],
    "delete_namespace": [(b"n",)],
    "balancer_rests": [()],
    "master_task_deaths": [()],
    "ping_master": [()],
    "set_throttle": [("ann", b"", b"t", False, "READ_SIZE", 5, 60, True)],
    "set_space_limit": [(b"", b"t", 1 << 30, "NO_WRITES")],
    "space_usage": [()],
    "set_quota_exemption": [("ann", True)],
    "set_throttling": [(True,)],
    "throttling_enabled": [()],
    "quotas": [()],
}
ANSWERS = {
    "read_rows": [(b"r", [(b"f:q", 1, b"v")])],
    "scan": ScanPage([], None),
    "increment": 5,
    "append": [(b"f:q", 1, b"v")],
    "check_and_mutate": True,
    "mutate_if": True,
    "add_to_columns": [(b"f:q", 1, b"v")],
    "scan_with_times": ScanPage([(b"r", [(b"f:q", 5, b"v")])], None),
    "relay_read": b"answer",
    "relay_write": b"",
    "sort_log_part": SortedRun(1, 2, 3, 4),
    "switch_compactions": True,
    "split": False,
    "tablets": [TabletStatus(RECORD, 1, 2, 3, 4, 5, 6)],
    "served_changes": ServedChanges(9, False, [ServedTablet(1, 2, 3, 4)], [5]),
    "served_record": RECORD,
    "family_usage": [{"table": "t"}],
    "files_in_flight": {"a"},
    "clear_block_cache": CacheEviction(1, 2),
    "task_deaths": ["a", ""],
    "balance": True,
    "balance_switch": False,
    "balancer_enabled": True,
    "normalize": True,
    "normalizer_switch": False,
    "normalizer_enabled": True,
    "collect_garbage": Collection(1, 2),
    "balancer_rests": "it is off",
    "master_task_deaths": [],
    "set_throttling": True,
    "throttling_enabled": False,
    "quotas": [{"a": "b"}],
    "space_usage": [{"table": "t"}],
}


def no_pause() -> None:
    return


def frames(name: str) -> list[str]:
    method = METHODS[name]
    first = () if method.role is Role.MASTER else ("server",)
    sent = [method.request(9, (*first, *arguments), no_pause).hex() for arguments in ARGUMENTS[name]]
    return [*sent, method.reply(9, ANSWERS.get(name), None, no_pause).hex()]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_call_has_the_bytes_that_released_roles_send_and_understand(name: str) -> None:
    """recorded_calls.json was written when each call had a codec of its own by hand. Never change what stands there:
    roles of two releases work side by side."""
    assert frames(name) == json.loads(RECORDED.read_text())[name]


class Workshop(Service):
    @call(CallTimeout.ORDER)
    def build(self, name: str, floors: int = 2, colour: Annotated[bytes, ADDED] = b"") -> bool:
        """As an example."""


def test_a_call_that_nobody_overrides_is_passed_on_with_all_its_arguments_in_order() -> None:
    seen = []
    workshop = Workshop(lambda declared, arguments: seen.append((declared.name, arguments)))
    workshop.build("a")
    workshop.build("b", 3)
    workshop.build("c", colour=b"red", floors=1)
    workshop.build("d", 4, b"blue")
    every = [("a", 2, b""), ("b", 3, b""), ("c", 1, b"red"), ("d", 4, b"blue")]
    assert seen == [("build", arguments) for arguments in every]
    with pytest.raises(TypeError, match="missing a required argument: 'name'"):
        workshop.build()
    with pytest.raises(TypeError, match="too many"):
        workshop.build("e", 1, b"", 4)


@pytest.mark.parametrize("given", [int, TableName, Annotated[TableName, "and more"]])
def test_a_parameter_that_was_added_has_the_type_that_it_would_have_had_from_the_beginning(given: object) -> None:
    for annotation in (given, Annotated[given, ADDED]):
        parameter = inspect.Parameter("one", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
        assert type_of(parameter) == given


def test_programs_get_lists_of_all_that_they_get_alone() -> None:
    assert interface_files.admin_kind(list[str]) == "list<string>"
    assert interface_files.admin_kind(Sequence[ServerName]) == "list<binary>"
    assert interface_files.admin_kind(list[Sequence[int]]) == "list<list<i64>>"
    with pytest.raises(LookupError, match=r"no type for .*float"):
        interface_files.admin_kind(list[float])


@pytest.mark.parametrize(
    "service, carrier",
    [
        (MasterService, MasterCalls),
        (TabletAdmin, TabletServerAdmin),
        (TabletService, TabletServer),
        (RelayService, RelayedCalls),
    ],
)
def test_every_declared_call_is_carried_out_with_the_declared_parameters(service: type, carrier: type) -> None:
    declared = {name: ["self", *(each.name for each in one.parameters)] for name, one in calls_of(service).items()}
    carried = {name: list(inspect.signature(vars(carrier)[name]).parameters) for name in declared}
    assert carried == declared
    assert all(getattr(service, name).__doc__ for name in declared)


@pytest.mark.parametrize("file", interface_files.FILES)
def test_the_interface_files_are_as_declared(file: str) -> None:
    """If this fails: make interfaces."""
    text = (interface_files.FOLDER / f"{file}.thrift").read_text()
    assert interface_files.written(file, text) == text
