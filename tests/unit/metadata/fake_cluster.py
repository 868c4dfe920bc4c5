"""An in-test cluster: tasks on a virtual clock, a lock service in a dict, tablet servers over dicts of rows.

Loaded by path from the conftests of metadata and client (test folders are no packages).
"""

import heapq
import random
from collections import deque

import greenlet

from hbtable.encoding import table_record, tablet_record
from hbtable.errors import AlreadyExists, Conflict, FileNotFound, LimitExceeded, StaleLocation
from hbtable.lockservice.interface import VersionedFile
from hbtable.metadata import layout
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT
from hbtable.model.ranges import RowRange
from hbtable.model.read import ScanPage, ScanPosition, bytes_of
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.local import LocalTransport


class FakeRuntime:
    """Cooperative tasks; time passes only when every task waits."""

    def __init__(self):
        self.random = random.Random(1)
        self.now = 0.0
        self._ready = deque()
        self._timers = []
        self._count = 0
        self._hub = greenlet.greenlet(self._loop)

    def _loop(self):
        while True:
            if self._ready:
                self._ready.popleft().switch()
            elif self._timers:
                self.now, _, waiting = heapq.heappop(self._timers)
                waiting.switch()
            else:
                raise RuntimeError("every task waits for ever")

    def wall_millis(self):
        return int(self.now * 1000) + 1_000_000

    def clock_seconds(self):
        return self.now

    def slice_end(self, seconds):
        return self.now + seconds

    def is_shared(self):
        return False

    def pause_when_due(self):
        self.sleep(0)

    def sleep(self, seconds):
        self._count += 1
        heapq.heappush(self._timers, (self.now + seconds, self._count, greenlet.getcurrent()))
        self._hub.switch()

    def spawn(self, function, *arguments, name=""):
        task = FakeTask(self)

        def run():
            try:
                task.result = function(*arguments)
            except BaseException as error:
                task.error = error
            task.done.set()

        self._ready.append(greenlet.greenlet(run, parent=self._hub))
        return task

    def event(self):
        return FakeEvent(self)

    def lock(self):
        raise NotImplementedError

    def offload(self, kind, function, *arguments):
        return function(*arguments)


class FakeTask:
    def __init__(self, runtime):
        self.error = None
        self.result = None
        self.done = FakeEvent(runtime)

    def join(self, timeout_seconds=None):
        return self.done.wait()

    def kill(self):
        raise NotImplementedError


class FakeEvent:
    def __init__(self, runtime):
        self._runtime = runtime
        self._set = False
        self._waiting = []

    def set(self):
        self._set = True
        self._runtime._ready.extend(self._waiting)
        self._waiting = []

    def clear(self):
        self._set = False

    def is_set(self):
        return self._set

    def wait(self, timeout_seconds=None):
        while not self._set:
            self._waiting.append(greenlet.getcurrent())
            self._runtime._hub.switch()
        return True


class FakeSession:
    """Files of the lock service; counts reads."""

    session_id = "fake"

    def over(self):
        return not self.alive

    def valid(self):
        return self.alive

    def __init__(self):
        self.alive = True
        self.files = {}
        self.reads = 0
        self.before_write = None

    def read(self, path, latest=False):
        self.reads += 1
        if path not in self.files:
            raise FileNotFound(path)
        return self.files[path]

    def create(self, path, data):
        if path in self.files:
            raise AlreadyExists(path)
        self.files[path] = VersionedFile(data, 1)

    def write(self, path, data, expected_version):
        if self.before_write is not None:
            hook, self.before_write = self.before_write, None
            hook()
        if self.read(path).version != expected_version:
            raise Conflict(path)
        self.files[path] = VersionedFile(data, expected_version + 1)
        return expected_version + 1


class FakeServer:
    """TabletService and TabletAdmin; rows live in the cluster, by table, as {row: {column: (timestamp, value)}}."""

    def __init__(self, cluster, incarnation):
        self.cluster = cluster
        self.incarnation = incarnation
        self.tablets = {}
        self.calls = []
        self.before = None  # called with (method, tablet_id) before anything is applied
        self.after = None  # called after it was applied
        self.most_rows = 10**9  # pages are cut here, whatever was asked for

    def _begin(self, method, tablet_id, rows=()):
        self.calls.append((method, tablet_id))
        self.cluster.runtime.sleep(0)
        if self.before is not None:
            self.before(method, tablet_id)
        record = self.tablets.get(tablet_id)
        if record is None or any(not record.range.holds(row) for row in rows):
            raise StaleLocation(f"{self.incarnation} does not serve tablet {tablet_id}")
        return self.cluster.rows.setdefault(record.table_id, {})

    def _end(self, method, tablet_id):
        if self.after is not None:
            self.after(method, tablet_id)

    def _apply(self, table, mutation):
        row = table.setdefault(mutation.row, {})
        for kind, family, qualifier, timestamp, value in mutation.operations:
            column = family + b":" + qualifier
            if kind == PUT:
                row[column] = (timestamp if timestamp >= 0 else self.cluster.runtime.wall_millis(), value)
            elif kind == DELETE_COLUMN:
                row.pop(column, None)
            elif kind == DELETE_FAMILY:
                for name in [name for name in row if name.startswith(family + b":")]:
                    del row[name]
        if not row:
            del table[mutation.row]

    def mutate(self, tablet_id, mutations):
        table = self._begin("mutate", tablet_id, [mutation.row for mutation in mutations])
        for mutation in mutations:
            self._apply(table, mutation)
        self._end("mutate", tablet_id)

    def _cells(self, row, spec, family_times=None):
        cells = []
        for column, (timestamp, value) in sorted(row.items()):
            family, _, qualifier = column.partition(b":")
            if spec.columns is not None:
                wanted = spec.columns.get(family, frozenset())
                if wanted is not None and qualifier not in wanted:
                    continue
            low, high = (family_times or {}).get(family, (spec.min_timestamp, spec.max_timestamp))
            if low <= timestamp < high:
                cells.append((column, timestamp, value))
        return cells

    def read_rows(self, tablet_id, rows, spec):
        table = self._begin("read_rows", tablet_id, rows)
        found = [(row, self._cells(table.get(row, {}), spec)) for row in rows]
        if sum(bytes_of(*entry) for entry in found) > spec.max_bytes:
            raise LimitExceeded(f"more than {spec.max_bytes} bytes")
        return [entry for entry in found if entry[1]]

    def scan_with_times(self, tablet_id, request, family_times):
        return self.scan(tablet_id, request, family_times)

    def scan(self, tablet_id, request, family_times=None):
        """As between processes `family_times` come by a call of their own: those in the request are not seen."""
        position = request.position
        table = self._begin("scan", tablet_id)
        within = request.range.intersect(self.tablets[tablet_id].range)
        limit, count = None, 0
        if request.spec.filter:  # b"Page <n>": the state is what passed so far
            limit = int(request.spec.filter.split()[1])
            count = int(position.filter_state or b"0") if position else 0
        out, size = [], 0
        for row in sorted((row for row in table if within.holds(row)), reverse=request.reversed):
            if position is not None and (row > position.row if request.reversed else row < position.row):
                continue
            cells = self._cells(table[row], request.spec, family_times)
            done = position.cells_done if position is not None and position.row == row else 0
            while done < len(cells):
                if limit is not None and count >= limit and not done:
                    return ScanPage(out, None, True, b"%d" % count)
                if len(out) >= min(request.max_rows, self.most_rows) or size >= request.max_bytes:
                    return ScanPage(out, ScanPosition(row, done, b"%d" % count if limit is not None else b""))
                piece = cells[done : done + request.cells_per_row] if request.cells_per_row else cells[done:]
                out.append((row, piece))
                size += len(row) + sum(len(column) + len(value) for column, _, value in piece)
                if not done:
                    count += 1
                done += len(piece)
        return ScanPage(out, None, False, b"%d" % count if limit is not None else b"")

    def increment(self, tablet_id, row, family, qualifier, amount, checksum=0):
        table = self._begin("increment", tablet_id, [row])
        column = family + b":" + qualifier
        old = table.get(row, {}).get(column)
        new = (int.from_bytes(old[1], "big", signed=True) if old else 0) + amount
        table.setdefault(row, {})[column] = (self.cluster.runtime.wall_millis(), new.to_bytes(8, "big", signed=True))
        self._end("increment", tablet_id)
        return new

    def append(self, tablet_id, row, values, ttl_millis=0, checksum=0):
        table = self._begin("append", tablet_id, [row])
        cells = table.setdefault(row, {})
        out = []
        for family, qualifier, more in values:
            column = family + b":" + qualifier
            new = (self.cluster.runtime.wall_millis(), cells.get(column, (0, b""))[1] + more)
            cells[column] = new
            out.append((column, *new))
        self._end("append", tablet_id)
        return out

    def check_and_mutate(self, tablet_id, row, family, qualifier, expected, mutation, checksum=0):
        table = self._begin("check_and_mutate", tablet_id, [row])
        current = table.get(row, {}).get(family + b":" + qualifier, (0, b""))[1]
        if current != (expected or b""):
            return False
        self._apply(table, mutation)
        self._end("check_and_mutate", tablet_id)
        return True

    def delete_range(self, tablet_id, start_row, stop_row, timestamp):
        table = self._begin("delete_range", tablet_id)
        rows = RowRange(start_row, stop_row)
        if rows.intersect(self.tablets[tablet_id].range) != rows:
            raise StaleLocation(f"tablet {tablet_id} does not have all of these rows")
        for row in [row for row in table if rows.holds(row)]:
            del table[row]
        self._end("delete_range", tablet_id)

    def flush(self, tablet_id):
        self._begin("flush", tablet_id)

    def compact(self, tablet_id, major, family=b""):
        self._begin("major" if major else "compact", tablet_id)

    def split(self, tablet_id, split_row):
        self._begin("split", tablet_id)
        return True


class FakeCluster:
    def __init__(self, servers=2):
        self.runtime = FakeRuntime()
        self.session = FakeSession()
        self.transport = LocalTransport()
        self.rows = {}
        self.servers = {}
        for index in range(servers):
            self.add_server(f"s{index}")
        root = layout.first_root_record(1)
        self.session.create(layout.ROOT_PATH, b"")
        self.next_tablet = 100
        self.next_table = 16
        self.serve(root, "s0")
        self.serve(layout.first_metadata_record(1), "s0")

    def add_server(self, incarnation):
        server = self.servers[incarnation] = FakeServer(self, incarnation)
        self.transport.register_server(incarnation, server, server)
        return server

    def serve(self, record, incarnation):
        """Loads the tablet on a server and writes its record, as a master would."""
        for server in self.servers.values():
            server.tablets.pop(record.tablet_id, None)
        record = TabletRecord(
            record.table_id, record.tablet_id, record.range, record.created_millis, incarnation,
            record.generation + 1, record.files, record.logs, record.left,
        )  # fmt: skip
        if incarnation:
            self.servers[incarnation].tablets[record.tablet_id] = record
        self.write(record)
        return record

    def write(self, record):
        data = tablet_record.encode(record)
        if record.tablet_id == 1:
            version = self.session.files[layout.ROOT_PATH].version
            self.session.files[layout.ROOT_PATH] = VersionedFile(data, version + 1)
        else:
            self.metadata[layout.key_of(record)] = {layout.COLUMN: (1, data)}

    @property
    def metadata(self):
        return self.rows.setdefault(0, {})

    def put_table(self, name, state=TableState.ENABLED, splits=(), families=(b"f",)):
        """A table with tablets on the servers in turn; the table's record and the tablets'."""
        schema = TableSchema(name, {family: FamilySchema(family) for family in families})
        table = TableRecord(self.next_table, state, schema)
        self.next_table += 1
        self.metadata[layout.table_key(name)] = {layout.COLUMN: (1, table_record.encode(table))}
        bounds = [b"", *splits, b""]
        tablets = []
        for index in range(len(bounds) - 1):
            record = TabletRecord(table.table_id, self.next_tablet, RowRange(bounds[index], bounds[index + 1]), 1)
            self.next_tablet += 1
            tablets.append(self.serve(record, sorted(self.servers)[index % len(self.servers)]))
        return table, tablets

    def drop_table(self, table, tablets):
        del self.metadata[layout.table_key(table.schema.name)]
        self.rows.pop(table.table_id, None)
        for record in tablets:
            self.metadata.pop(layout.key_of(record), None)
            for server in self.servers.values():
                server.tablets.pop(record.tablet_id, None)

    def set_state(self, table, tablets, state):
        """Disables (unloads) or enables (loads on s0)."""
        changed = TableRecord(table.table_id, state, table.schema)
        self.metadata[layout.table_key(table.schema.name)] = {layout.COLUMN: (1, table_record.encode(changed))}
        return [self.serve(record, "s0" if state is TableState.ENABLED else "") for record in tablets]

    def calls(self):
        """All calls to user tablets and METADATA so far, and forgets them."""
        made = [call for server in self.servers.values() for call in server.calls]
        for server in self.servers.values():
            server.calls.clear()
        return made
