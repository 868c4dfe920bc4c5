"""No request loads a module on the hub: a parser's takes 20 to 50 ms, an engine's half a second, and nobody else is
answered meanwhile. What only some need is loaded at the start or by a thread (hbase/connection_context.py, load())."""

import ast

from tests.architecture.product_trees import PRODUCT, product_files, product_tree

SERVING = (
    "access", "aggregates", "arrow", "commitlog", "encoding", "filters", "hbase", "lockservice", "master", "memtable",
    "merge", "metadata", "metrics", "model", "quotas", "reachability", "rpc", "runtime", "sstable", "tablet",
    "tabletserver", "thrift",
)  # fmt: skip
ELSEWHERE = {
    "filters/cel/program.py": "in a worker process",
    "hbase/codec/interface_files.py": "when the program starts",
    "hbase/transports/kerberos.py": "when the program starts, or reads its configuration anew",
}


def test_no_request_loads_a_module() -> None:
    found = set()
    for path in product_files():
        place = path.relative_to(PRODUCT)
        if place.parts[0] not in SERVING:
            continue
        for function in ast.walk(product_tree(path)):
            if isinstance(function, ast.FunctionDef) and any(
                isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function)
            ):
                found.add(place.as_posix())
    assert found == set(ELSEWHERE)
