"""A program that opens its folder again and again, and never for long: what it leaves does not grow with its lives."""

from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f")})
VALUE = b"v" * 1000


def test_what_short_lives_overwrite_goes() -> None:
    runtime = SimulatedRuntime(1)
    memory = MemoryFileSystem(runtime)

    def life(number: int) -> tuple[int, int]:
        """How many SSTables there are when it has ended, and the bytes of all files; not of the trash, which has a
        bound of its own."""
        cluster = EmbeddedCluster(runtime, memory, LocalLockService(memory, runtime))
        cluster.start()
        if not number:
            cluster.client.admin.create_table(SCHEMA, [])
        rows = [RowMutation(b"%03d" % row, [(PUT, b"f", b"q", SERVER_TIME, VALUE)]) for row in range(100)]
        cluster.client.table(b"t").mutate(rows)
        assert cluster.stop() == ""
        files = [status for status in memory.list_files("") if not status.path.startswith("trash/")]
        tables = [status for status in files if status.path.startswith("sstables/")]
        return len(tables), sum(status.length_bytes for status in files)

    found = runtime.run(lambda: [life(number) for number in range(40)])
    assert max(files for files, _ in found) < 20, found
    assert max(size for _, size in found) < 20 * 100 * len(VALUE), found
