"""One group put as a file: away from the nodes that keep it waiting, and the fence looked up behind it."""

import pytest

from hbtable.commitlog.fence_check import FenceCheck
from hbtable.commitlog.group_files.retention import GroupRetention
from hbtable.commitlog.group_files.sending import GroupSender
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.commitlog.options import LogOptions
from hbtable.errors import LockLost, OutOfSpace, Stalled
from hbtable.fs.interface import PutHints
from hbtable.testing.simulated.runtime import SimulatedRuntime


class Nodes:
    """Puts go to the first node not to be avoided; `answers` says what a node does then."""

    def __init__(self, **answers: Exception | None) -> None:
        self.answers = answers
        self.puts: list[tuple[str, tuple[str, ...]]] = []

    def put_new(self, path: str, data: bytes, hints: PutHints) -> None:
        avoid, on_node = hints
        assert on_node is not None
        self.puts.append((path, tuple(avoid)))
        for node, error in self.answers.items():
            if node not in avoid:
                on_node(node)
                if error is not None:
                    raise error
                return
        raise OutOfSpace("no node is left")


def _sender(runtime: SimulatedRuntime, nodes: Nodes, fenced: bool = False) -> GroupSender:
    check = FenceCheck(runtime, "logs/s", lambda: bool(nodes.puts) and fenced, 5.0)
    retention = GroupRetention(runtime, nodes, SegmentLedger())  # type: ignore[arg-type]
    return GroupSender(runtime, nodes, "logs/s", LogOptions(give_up_seconds=5.0), check, retention)  # type: ignore[arg-type]


def test_a_second_try_and_the_next_group_leave_out_the_node_that_did_not_answer() -> None:
    runtime = SimulatedRuntime(1)
    nodes = Nodes(slow=Stalled("no answer"), good=None)
    sender = _sender(runtime, nodes)
    runtime.run(sender.send, 7, 0, b"group")
    runtime.run(sender.send, 8, 2, b"group")
    assert nodes.puts == [
        ("logs/s/0000000007.0.1.grp", ()),
        ("logs/s/0000000007.0.2.grp", ("slow",)),
        ("logs/s/0000000008.2.1.grp", ("slow",)),
    ]


def test_no_room_elsewhere_is_no_refusal() -> None:
    runtime = SimulatedRuntime(1)
    nodes = Nodes(only=Stalled("no answer"))
    sender = _sender(runtime, nodes)

    def recover() -> None:
        runtime.sleep(0.1)
        nodes.answers["only"] = None

    def main() -> None:
        runtime.spawn(recover)
        sender.send(1, 0, b"group")

    runtime.run(main)
    assert nodes.puts[1][1] == ("only",)
    nodes.answers["only"] = OutOfSpace("full")
    with pytest.raises(OutOfSpace):
        runtime.run(sender.send, 2, 0, b"group")


def test_a_group_whose_file_is_there_is_not_durable_when_the_log_is_fenced() -> None:
    runtime = SimulatedRuntime(1)
    with pytest.raises(LockLost, match="must stop"):
        runtime.run(_sender(runtime, Nodes(good=None), fenced=True).send, 1, 0, b"group")
