/*
 * What a tablet server offers to clients and to the master, inside a cluster. Applications speak thrift/hbase.thrift.
 *
 * Framed transport (a length of 4 bytes, big-endian, before each message), strict binary protocol, one call at a time
 * on a connection. A frame of length 0 from the server says goodbye: it has not begun and will not begin whatever has
 * not been answered, and closes.
 *
 * The first call on a connection may be `hello`, of every role, and never changes (hbtable/rpc/handshake.py): each side
 * says which protocol it speaks. Another major version is refused. When both speak 1.1 or more, each frame after the
 * answer ends with the CRC-32 (zlib's) of its message, 4 bytes, big-endian, which count in its length; a frame of
 * length 0 has none. Without a hello, or when it is answered as an unknown call, by its name, that is 1.0. A first call
 * that is not known is answered and ends the connection: it may be a hello of which a bit changed.
 *
 *   struct PeerVersion {
 *     1: required i64 major, 2: required i64 minor, 3: optional string build = "", 4: optional binary challenge = ""
 *   }
 *   PeerVersion hello(1: required i64 major, 2: required i64 minor, 3: optional string build = "",
 *                     4: optional binary challenge = "")
 *       throws (1: RpcError error)
 *
 * From 1.2 on the message of a hello, and that of its answer, ends with the field 100, an i64: the CRC-32 of all its bytes
 * before that field. Where both sides gave a challenge, the caller's next call is `prove`, and afterwards each frame ends
 * with a tag of 16 bytes instead of the checksum, those of length 0 as well (hbtable/rpc/proof.py).
 *
 *   binary prove(1: required binary proof) throws (1: RpcError error)
 *
 * Each call names the incarnation of the tablet server that it is meant for; a server that took over the address of a
 * dead one refuses it with wrongIncarnation. hbtable/rpc/services.py has the promises of each call.
 * Records of tablets and tables are the bytes that METADATA holds (docs/formats.md).
 */

namespace py hbtable.tabletserver

/** Any error, declared by every call. `classes`: its class and that one's ancestors in hbtable/errors.py, nearest
    first: a receiver takes the first that it knows. The other fields belong to Corruption, BadFilter and DataDamaged. */
exception RpcError {
  1: required list<string> classes,
  2: required string message,
  3: optional string path,
  4: optional i64 offset,
  5: optional string reason,
  6: optional i64 position,
  7: optional bool wrongIncarnation,
  8: optional binary firstRow,
  9: optional binary stopRow
}

/** One version of one column: `family:qualifier`, milliseconds, value. */
struct Cell {
  1: required binary column,
  2: required i64 timestamp,
  3: required binary value
}

struct Row {
  1: required binary row,
  2: required list<Cell> cells
}

/** Kinds as in hbtable/model/mutation.py; timestamp -1: the server's time. */
struct Operation {
  1: required byte kind,
  2: required binary family,
  3: required binary qualifier,
  4: required i64 timestamp,
  5: required binary value
}

struct RowMutation {
  1: required binary row,
  2: required list<Operation> operations,
  3: optional bool skipLog = 0,
  4: optional i64 ttlMillis = 0,
  /** Of all of the above, when the caller took it in (hbtable/model/mutation.py, checksum_of). 0: the caller took none. */
  5: optional i64 checksum = 0
}

/** Without qualifiers: the whole family. */
struct FamilyColumns {
  1: required binary family,
  2: optional list<binary> qualifiers
}

/** Absent columns: every family. The filter is text in the filter language. */
struct ReadSpec {
  1: optional list<FamilyColumns> columns,
  2: optional i64 minTimestamp = 0,
  3: optional i64 maxTimestamp = 9223372036854775807,
  4: optional i64 maxVersions = 1,
  5: optional binary filter,
  6: optional bool cacheBlocks = 1,
  7: optional bool raw = 0,
  8: optional i64 maxBytes = 67108864,
  /** With raw: what a read shows, each value behind the byte 24 and its cell's own time to live. */
  9: optional bool lifetimes = 0
}

/** For this family in the place of the spec's. */
struct FamilyTimeRange {
  1: required binary family,
  2: optional i64 minTimestamp = 0,
  3: optional i64 maxTimestamp = 9223372036854775807
}

/** filterState is opaque outside the filters. The last three name the last of the cells that are done: its column, its
 * time, and how many versions of the column are done. */
struct ScanPosition {
  1: required binary row,
  2: optional i64 cellsDone = 0,
  3: optional binary filterState = "",
  4: optional binary column = "",
  5: optional i64 timestamp = 0,
  6: optional i64 versions = 0
}

/** What to compute: "rows", "cells" and the "last" row of a group, "count", "distinct", "sum", "min", "max" and "avg" of a column, or
 * without a qualifier of a family. `readAs`: int8 to int64, uint8 to uint64, float, double, or number, as text. */
struct Aggregate {
  1: required string kind,
  2: optional binary family = "",
  3: optional binary qualifier,
  4: required string readAs
}

/** Of rows that begin with the same rowBytes bytes, or up to the same rowDelimiter; of the cells of each column; of all. */
struct Aggregation {
  1: required list<Aggregate> aggregates,
  2: optional i64 rowBytes = 0,
  3: optional binary rowDelimiter = "",
  4: optional bool byColumn = 0
}

/** `states` is JSON: a list with an element for each aggregate (hbtable/aggregates/states.py). */
struct AggregatedGroup {
  1: required binary key,
  2: required binary states
}

/** With an aggregation the page has groups in the place of rows. Older servers pass over it, and send rows. */
struct ScanRequest {
  1: optional binary start = "",
  2: optional binary stop = "",
  3: optional ReadSpec spec,
  4: optional bool isReversed = 0,
  5: optional i64 cellsPerRow = 0,
  6: optional i64 maxRows = 1000,
  7: optional i64 maxBytes = 4194304,
  8: optional ScanPosition position,
  9: optional Aggregation aggregation
}

struct ScanPage {
  1: required list<Row> rows,
  2: optional ScanPosition following,
  3: optional bool filterFinished = 0,
  4: optional binary filterState = "",
  5: optional i64 rowsScanned = 0,
  6: optional i64 tablets = 0,
  7: optional list<AggregatedGroup> groups
}

struct AppendValue {
  1: required binary family,
  2: required binary qualifier,
  3: required binary suffix
}

struct TabletStatus {
  1: required binary record,
  2: required i64 schemaVersion,
  3: required i64 memtableBytes,
  4: required i64 sstableBytes,
  5: required i64 sstables,
  6: required i64 reads,
  7: required i64 writes,
  8: optional bool merging = 0,
  9: optional bool major = 0,
  10: optional i64 damaged = 0
}

struct ServedTablet {
  1: required i64 tableId,
  2: required i64 tabletId,
  3: required i64 schemaVersion,
  4: required i64 sstableBytes,
  5: optional i64 reads = -1,
  6: optional i64 writes = -1
}

/** One that is served no more. `stopRow`: METADATA has it under this one; `table`: the table's name. */
struct LeftTablet {
  1: required i64 tableId,
  2: required i64 tabletId,
  3: required binary stopRow,
  4: required binary table
}

/** `whole`: of everything that is served, so what is not named is not. `number`: of the last change. `left`: more of
    those that are gone. */
struct ServedChanges {
  1: required i64 number,
  2: required bool whole,
  3: required list<ServedTablet> served,
  4: required list<i64> gone,
  5: optional list<LeftTablet> left
}

/** What a block cache lost when it was emptied of a table. */
struct CacheEviction {
  1: required i64 blocks,
  2: required i64 capacityBytes
}

/** The part of a request's cost that calls were: time of work, bytes of blocks and cells. It goes with calls as `spent`,
    beside the time for which the caller waits, waitMillis; an older server passes over both. In results it is no error
    but comes beside the result or the error, to a caller who sent waitMillis. */
exception CostOfCall {
  1: optional i64 millis = 0,
  2: optional i64 readBytes = 0,
  3: optional i64 cells = 0
}

/** What a master's garbage collection came to: left-over rows removed, files in the trash that are not old enough. */
struct Collection {
  1: required i64 rows,
  2: required i64 waiting
}

/** A run: a sorted part of a dead server's log, of the segments from `first` to `last`. */
struct Run {
  1: required i64 first,
  2: required i64 last,
  3: required i64 footerChecksum,
  4: required i64 lengthBytes
}

service TabletService {
  /** Row by row in this order, each row all or nothing. Everything is checked before the first is applied
   * (InvalidRequest: nothing was). On return all are in the log, durable as configured, and visible. */
  void mutate(1: string incarnation, 2: i64 tabletId, 3: list<RowMutation> mutations) throws (1: RpcError error),
  /** One entry for each row that has cells, in the order asked; a row asked twice comes twice. LimitExceeded when they
   * count more than the spec's max_bytes. */
  list<Row> read_rows(1: string incarnation, 2: i64 tabletId, 3: list<binary> rows, 4: ReadSpec spec,
    100: optional i64 waitMillis, 101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** The next page within this tablet's own range. LimitExceeded for a row that must be given whole, or was kept by a
   * filter, and counts more than the spec's max_bytes; rows before it come in a page of their own. */
  ScanPage scan(1: string incarnation, 2: i64 tabletId, 3: ScanRequest request, 100: optional i64 waitMillis,
    101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** As scan, of a request that has these family_times. A call of its own: older releases would pass over a field that
   * they do not know, and show cells that were not asked for. */
  ScanPage scan_with_times(1: string incarnation, 2: i64 tabletId, 3: ScanRequest request,
    4: list<FamilyTimeRange> familyTimes, 100: optional i64 waitMillis, 101: optional CostOfCall spent)
    throws (1: RpcError error, 100: CostOfCall cost),
  /** Atomic read-add-write of an 8-byte big-endian counter; the new value, wrapped to i64. NotACounter. `checksum`: of
   * the arguments (model.call_checksums); MemoryDamaged when they have another one when the write is made of them. 0:
   * nobody took it. */
  i64 increment(1: string incarnation, 2: i64 tabletId, 3: binary row, 4: binary family, 5: binary qualifier,
    6: i64 amount, 7: optional i64 checksum, 100: optional i64 waitMillis, 101: optional CostOfCall spent)
    throws (1: RpcError error, 100: CostOfCall cost),
  /** Atomically appends each (family, qualifier, suffix); the new cells in the order asked. `checksum` as of increment.
   * */
  list<Cell> append(1: string incarnation, 2: i64 tabletId, 3: binary row, 4: list<AppendValue> values,
    5: i64 ttlMillis, 6: optional i64 checksum, 100: optional i64 waitMillis, 101: optional CostOfCall spent)
    throws (1: RpcError error, 100: CostOfCall cost),
  /** Applies `mutation` (of the same row) if the newest value equals `expected`; None or b"" expects a missing or empty
   * cell. `checksum` as of increment, without the mutation, which has its own. The mutation may have increments and
   * appends (model.additions); older releases refuse these. */
  bool check_and_mutate(1: string incarnation, 2: i64 tabletId, 3: binary row, 4: binary family, 5: binary qualifier,
    6: optional binary expected, 7: RowMutation mutation, 8: optional i64 checksum, 100: optional i64 waitMillis,
    101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** Applies `mutation` (of the same row) if the cells that `spec` chooses in the row meet the condition
   * (model.condition): with the operator "" there is one; with "always" there need be none, and `spec` chooses none;
   * else the newest of the one column stands so to `value`. `checksum` and increments as of check_and_mutate. Older
   * releases do not know the call. */
  bool mutate_if(1: string incarnation, 2: i64 tabletId, 3: binary row, 4: ReadSpec spec, 5: string operator,
    6: optional binary value, 7: RowMutation mutation, 8: i64 checksum, 100: optional i64 waitMillis,
    101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** Applies a mutation of increments and appends alone (model.additions), all or nothing; the new cells in the order
   * of its operations. NotACounter. Older releases do not know the call. */
  list<Cell> add_to_columns(1: string incarnation, 2: i64 tabletId, 3: RowMutation mutation,
    100: optional i64 waitMillis, 101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** Every cell and marker of start_row <= row < stop_row (b"": to the end), rows of this tablet alone, that was
   * written before and whose time is not later than `timestamp` is gone on return, durably; SERVER_TIME: than any time
   * that the tablet assigned. Writes that come after it stay, whatever their times are. Older releases do not know the
   * call. */
  void delete_range(1: string incarnation, 2: i64 tabletId, 3: binary startRow, 4: binary stopRow, 5: i64 timestamp)
    throws (1: RpcError error),
  /** As mutate, if the user may. */
  void mutate_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: list<RowMutation> mutations) throws (1: RpcError error),
  /** As read_rows, if the user may. */
  list<Row> read_rows_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: list<binary> rows, 6: ReadSpec spec, 100: optional i64 waitMillis, 101: optional CostOfCall spent)
    throws (1: RpcError error, 100: CostOfCall cost),
  /** As scan, if the user may. */
  ScanPage scan_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: ScanRequest request, 100: optional i64 waitMillis, 101: optional CostOfCall spent)
    throws (1: RpcError error, 100: CostOfCall cost),
  /** As scan_with_times, if the user may. */
  ScanPage scan_with_times_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: ScanRequest request, 6: list<FamilyTimeRange> familyTimes, 100: optional i64 waitMillis,
    101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** As increment, if the user may. */
  i64 increment_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId, 5: binary row,
    6: binary family, 7: binary qualifier, 8: i64 amount, 9: optional i64 checksum, 100: optional i64 waitMillis,
    101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** As append, if the user may. */
  list<Cell> append_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: binary row, 6: list<AppendValue> values, 7: i64 ttlMillis, 8: optional i64 checksum,
    100: optional i64 waitMillis, 101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** As check_and_mutate, if the user may. */
  bool check_and_mutate_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: binary row, 6: binary family, 7: binary qualifier, 8: optional binary expected, 9: RowMutation mutation,
    10: optional i64 checksum, 100: optional i64 waitMillis, 101: optional CostOfCall spent)
    throws (1: RpcError error, 100: CostOfCall cost),
  /** As mutate_if, if the user may. */
  bool mutate_if_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId, 5: binary row,
    6: ReadSpec spec, 7: string operator, 8: optional binary value, 9: RowMutation mutation, 10: i64 checksum,
    100: optional i64 waitMillis, 101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** As add_to_columns, if the user may. */
  list<Cell> add_to_columns_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: RowMutation mutation, 100: optional i64 waitMillis, 101: optional CostOfCall spent)
    throws (1: RpcError error, 100: CostOfCall cost),
  /** As delete_range, if the user may. */
  void delete_range_for_user(1: string incarnation, 2: string user, 3: list<string> groups, 4: i64 tabletId,
    5: binary startRow, 6: binary stopRow, 7: i64 timestamp) throws (1: RpcError error)
}

/** Calls of HBase's clients that the server of their row carries out for the one that they came to. */
service RelayService {
  /** One of the methods get*, getRow*. */
  binary relay_read(1: string incarnation, 2: i64 tabletId, 3: binary message, 100: optional i64 waitMillis,
    101: optional CostOfCall spent) throws (1: RpcError error, 100: CostOfCall cost),
  /** One of the methods mutateRow, mutateRowTs. On return it is in the log, durable as configured, and visible. */
  binary relay_write(1: string incarnation, 2: i64 tabletId, 3: binary message) throws (1: RpcError error)
}

/** `epoch` is that of the master's lock: a smaller one than the highest seen is refused. */
service TabletAdmin {
  /** Recovers the tablet from its files and logs and serves it. Idempotent for the same generation. */
  void load_tablet(1: string incarnation, 2: i64 epoch, 3: binary record, 4: binary schema) throws (1: RpcError error),
  /** Minor compaction, then stops serving. Fine when it is not served. */
  void unload_tablet(1: string incarnation, 2: i64 epoch, 3: i64 tabletId) throws (1: RpcError error),
  /** All loaded tablets of the table use the new schema for reads and writes from now on. */
  void update_schema(1: string incarnation, 2: i64 epoch, 3: i64 tableId, 4: binary schema) throws (1: RpcError error),
  /** A minor compaction of everything in the memtable at the call; durable on return. */
  void flush(1: string incarnation, 2: i64 tabletId) throws (1: RpcError error),
  /** Returns when done. `family`: only the files of its locality group; none when there is no such family. */
  void compact(1: string incarnation, 2: i64 tabletId, 3: bool major, 4: optional binary family = "")
    throws (1: RpcError error),
  /** Begins a new file of the log. The one before it is deleted as soon as no tablet needs it. */
  void roll_log(1: string incarnation) throws (1: RpcError error),
  /** Whether this server does merging and major compactions from now on, until it ends: off, those under way are given
   * up, and what is asked for is SwitchedOff. Whether it did before. */
  bool switch_compactions(1: string incarnation, 2: bool on) throws (1: RpcError error),
  /** Splits at the row (None: at the middle by size). False when there is nothing to split. */
  bool split(1: string incarnation, 2: i64 tabletId, 3: optional binary splitRow) throws (1: RpcError error),
  /** Sorts a part (commitlog.log_ranges) of a dead server's fenced log; the run is durable on return. Any number of
   * servers may sort the same part: the outcome is the same. Corruption; anything else: ask another server. */
  Run sort_log_part(1: string incarnation, 2: i64 epoch, 3: string deadIncarnation, 4: binary part)
    throws (1: RpcError error),
  /** The tablets that it serves. `table_id`: of this table only; older releases answer with the tablets of every table.
   * */
  list<TabletStatus> tablets(1: string incarnation, 2: optional i64 tableId) throws (1: RpcError error),
  /** The tablets that came, went or changed their schema after the change of this number; 0: all that it serves. Older
   * releases do not know the call: ask for tablets(). */
  ServedChanges served_changes(1: string incarnation, 2: i64 since) throws (1: RpcError error),
  /** The record of a tablet that the server serves. StaleLocation when it does not serve it. Older releases do not know
   * the call. */
  binary served_record(1: string incarnation, 2: i64 tabletId) throws (1: RpcError error),
  /** Disk, memory and requests of the column families of its tablets, of this table or of all, as
   * model.usage.FamilyUsage has them: `table`, `families` (those of a locality group, with "/" between) and each number
   * in decimal. Older releases do not know the call. */
  list<map<string, string>> family_usage(1: string incarnation, 2: binary table) throws (1: RpcError error),
  /** Paths of SSTables written or being written that METADATA may not name yet. */
  set<string> files_in_flight(1: string incarnation) throws (1: RpcError error),
  /** No block of the SSTables of its tablets of this table is in the cache on return. */
  CacheEviction clear_block_cache(1: string incarnation, 2: i64 tableId) throws (1: RpcError error),
  /** A message for each background task of its process that ever died of a bug, and for a commit log that broke, for
   * people. */
  list<string> task_deaths(1: string incarnation) throws (1: RpcError error),
  /** Nothing: that it is answered says that this server can be reached. */
  void ping(1: string incarnation) throws (1: RpcError error)
}
