"""What an embedded database runs takes threads, locks and queues from runtime/threads/native_threads.py, which monkey
patches of a program do not reach. Roles of a cluster and the shell are processes of our own, and unpatched. The pool
for happybase, the jobs of mapreduce and the clusters of testing belong to the program's own threads, patched or not."""

import ast
from pathlib import Path

from tests.architecture.product_trees import PRODUCT, product_files, product_tree

OURS = ("launch", "shell", "happybase", "mapreduce", "testing")
OF_CLUSTERS = ("fs/hdfs", "fs/webhdfs", "fs/calls", "lockservice/zookeeper", "lockservice/lease")
PATCHED = {"threading", "queue", "_thread", "concurrent"}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(product_tree(path)):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_no_module_of_an_embedded_database_takes_them_as_it_finds_them() -> None:
    takers = set()
    for path in product_files():
        name = path.relative_to(PRODUCT).as_posix()
        if not name.startswith((*OURS, *OF_CLUSTERS)) and imported(path) & PATCHED:
            takers.add(name)
    assert takers == {"runtime/threads/native_threads.py"}
