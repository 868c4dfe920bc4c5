"""A loop that receives lets others run by itself.

A socket at which something waits is read without a switch. A client that sends as fast as it is read, or in pieces of a
byte, keeps such a loop going, and nobody else is served: that was found in frames of SASL with nothing inside, in
chunks of a byte, in frames of Kerberos, in what gateways pass on to each other. So a loop whose body reads pauses in
the same body, or stands below with what ends it.
"""

import ast
from collections.abc import Iterator

from tests.architecture.product_trees import PRODUCT, product_files, product_tree

READS = frozenset(("recv", "recv_into"))
GIVES_WAY = frozenset(("pause", "_pause", "sleep"))
NOT_OF_SERVERS = ("hbtable/shell/", "hbtable/testing/", "hbtable/launch/roles/", "hbtable/lockservice/")
"""Programs of clients, tests, what is asked before a server serves, and the lock service, whose answers are trusted."""

ENDS = {
    "hbtable/hbase/opening.py _sniff": "six bytes say what a client speaks",
    "hbtable/hbase/transports/http.py _start_of_body": "it reads 512 bytes, and the parser keeps what it did not use",
    "hbtable/hbase/transports/protected_stream.py recv": "the inner loop reads the four bytes of a frame's length",
    "hbtable/hbase/transports/protected_stream.py _arrived": "_count() gives others a turn after 64 KB",
    "hbtable/hbase/transports/sasl_messages.py _take": "a message of the negotiation has a few kilobytes",
    "hbtable/rpc/connections.py _receive": "it ends with the first bytes",
    "hbtable/rpc/thrift_server.py _turn_away": "it reads a fixed number of times",
    "hbtable/runtime/network/sockets.py recv": "it ends with the first bytes, and waits before it looks again",
    "hbtable/thrift/message_input.py skip": "take() gives others a turn as it reads",
    "hbtable/thrift/message_input.py _gather": "_arrive() gives others a turn after 64 KB, a piece counts for one more",
}


def calls_in(tree: ast.AST) -> Iterator[str]:
    """The last names of what is called there, and not in functions that are made there."""
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute):
                yield function.attr
            elif isinstance(function, ast.Name):
                yield function.id
        waiting += ast.iter_child_nodes(node)


def loops_without_a_pause(tree: ast.Module) -> Iterator[str]:
    """The names of functions with a loop that receives, by itself or by functions of the same file, and does not
    pause."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    reads = set(READS)
    while more := {one.name for one in functions if one.name not in reads and reads.intersection(calls_in(one))}:
        reads |= more
    for function in functions:
        for loop in ast.walk(function):
            if isinstance(loop, ast.For | ast.While):
                called = set(calls_in(loop))
                if called & reads and not called & GIVES_WAY:
                    yield function.name


def test_loops_that_receive_let_others_run() -> None:
    found = {
        f"{place} {name}"
        for path in product_files()
        if not (place := path.relative_to(PRODUCT.parent).as_posix()).startswith(NOT_OF_SERVERS)
        for name in loops_without_a_pause(product_tree(path))
    }
    assert found - ENDS.keys() == set(), "they receive in a loop, and nobody else runs meanwhile"
    assert ENDS.keys() - found == set(), "these need no reason any more"


def test_a_loop_that_does_not_pause_is_found() -> None:
    text = """
class Frames:
    def recv(self, most):
        while not self.inside:
            self.inside = self.taken(self.carrier.recv(65536))

    def kind(self):
        while self.silent:
            self.pause()
            self.first = self.more()

    def more(self):
        return self.carrier.recv(1)

    def whole(self):
        for _ in range(9):
            self.data += self.more()

    def alone(self):
        return [self.carrier.recv(1)]
"""
    assert sorted(loops_without_a_pause(ast.parse(text))) == ["recv", "whole"]
