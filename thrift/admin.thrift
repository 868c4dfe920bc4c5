/*
 * hbtable's own service, for what HBase's Thrift 1 has no call for: schemas with all their options, split rows, flush,
 * split, status, namespaces, and reads with time ranges, versions and markers. `hbtable shell` speaks it.
 *
 * It is served on the same port as thrift/hbase.thrift; all its methods begin with "admin", so that no name meets one
 * of HBase's. Errors are the same exceptions: `java.class.Name: one sentence`. Their `classes` are the error's class in
 * hbtable/errors.py and its ancestors, nearest first; without them, as from an older server, the Java class tells less.
 */

namespace py hbtable.admin

exception IOError {
  1: string message,
  2: bool canRetry,
  100: optional list<string> classes
}

exception IllegalArgument {
  1: string message,
  100: optional list<string> classes
}

/** A column family. `attributes` are kept and shown, not obeyed. */
struct AdminFamily {
  1: binary name,
  2: i32 maxVersions = 1,
  3: i32 minVersions = 0,
  4: i32 timeToLiveSeconds = 0x7fffffff,
  5: string compression = "NONE",
  6: string bloom = "ROW",
  7: bool inMemory = 0,
  8: bool blockCache = 1,
  9: i32 blockBytes = 65536,
  10: string localityGroup = "",
  11: bool newVersionBehavior = 0,
  12: map<string, string> attributes
}

/** A table. `state` is "enabled", "disabled" or on the way; `version` grows with each change. */
struct AdminTable {
  1: binary name,
  2: i32 version = 1,
  3: string state = "",
  4: i64 splitBytes = 0,
  5: list<AdminFamily> families,
  6: map<string, string> attributes,
  /** Never another table's; truncating gives a new one. */
  7: i64 tableId = 0
}

/** A tablet, with its name as HBase shows it. Sizes and counts are 0 when no server answers for it. */
struct AdminTablet {
  1: i64 tabletId,
  2: binary startRow,
  3: binary stopRow,
  4: i64 createdMillis,
  5: binary regionName,
  6: string server = "",
  7: i64 memtableBytes = 0,
  8: i64 sstableBytes = 0,
  9: i32 sstables = 0,
  10: i64 reads = 0,
  11: i64 writes = 0,
  12: i32 damaged = 0
}

/** A tablet server and what it serves; `silent`: it did not answer when it was asked, so nobody knows. */
struct AdminServer {
  1: string name,
  2: string host,
  3: i32 port,
  4: i64 startedMillis,
  5: list<AdminTablet> tablets,
  6: i32 families = 0,
  7: bool silent = 0
}

/** A master process; `startedMillis` 0: it does not say. */
struct AdminMaster {
  1: string host,
  2: i32 port,
  3: i64 startedMillis
}

/** Blocks that left the caches, which have that capacity together; regions whose server could not be asked. */
struct AdminCacheEviction {
  1: i64 blocks,
  2: i64 capacityBytes,
  3: list<binary> failedRegions
}

/** A tablet that is not served as it should be, in HBase's words (RegionState.State); no server: nobody owns it. */
struct AdminTransition {
  1: binary regionName,
  2: string state,
  3: string server = ""
}

/** A tablet server that holds its lock, by `host,port,startcode`, and who says that it cannot reach it, in words. */
struct AdminUnreachable {
  1: string server,
  2: string who
}

/** A background task that died of a bug since its process began, in words. `process`: a tablet server by
 * `host,port,startcode`, or `master host:port`. */
struct AdminTaskDeath {
  1: string process,
  2: string what
}

/** `active`: one, or none while no process holds the master's lock; `standbys` wait for it. `dead` and `transitions` as
 * adminDeadServers and adminTransitions have them. `balancerRests`: why tablets stay although servers have more of them
 * than others, in words; empty: they move, or are spread evenly. */
struct AdminStatus {
  1: list<AdminMaster> active,
  2: list<AdminMaster> standbys,
  3: list<AdminServer> servers,
  4: list<string> dead,
  5: list<AdminTransition> transitions,
  6: list<AdminUnreachable> unreachable,
  7: list<AdminTaskDeath> taskDeaths,
  8: string balancerRests = ""
}

/** One of a tablet's events: `what` became of it with `server`, which are names as AdminTablet.server has them, or an
 * incarnation that is gone; `by` noted it: a server likewise, or `master`. */
struct AdminTabletEvent {
  1: i64 millis,
  2: string what,
  3: string server,
  4: string by,
  5: string why,
  6: i64 generation
}

/** `state`: whether the tablet is served now, in words. `events` as they happened; a single server keeps none. */
struct AdminTabletHistory {
  1: AdminTablet tablet,
  2: string state,
  3: list<AdminTabletEvent> events
}

/** A request to this port that took long. Decoding includes waiting for its bytes, answering the sending. */
struct AdminSlowRequest {
  1: i64 endedMillis,
  2: string method,
  3: string table,
  4: string row,
  5: string outcome,
  6: double seconds,
  7: double decodingSeconds,
  8: double handlingSeconds,
  9: double answeringSeconds,
  10: i64 requestBytes,
  11: i64 answerBytes,
  12: string client
}

struct AdminCell {
  1: binary column,
  2: i64 timestamp,
  3: binary value,
  4: byte kind = 8,
  /** Its own, where it was asked for and there is one. */
  5: optional i64 ttlMillis
}

struct AdminRow {
  1: binary row,
  2: list<AdminCell> cells
}

/** A family, or with a qualifier (which may be empty) one column of it. */
struct AdminColumn {
  1: binary family,
  2: optional binary qualifier
}

/** minTimestamp <= timestamp < maxTimestamp. `raw` (scans only): markers and masked cells, too. */
struct AdminRead {
  1: optional list<AdminColumn> columns,
  2: i64 minTimestamp = 0,
  3: i64 maxTimestamp = 0x7fffffffffffffff,
  4: i32 maxVersions = 1,
  5: optional binary filter,
  6: bool cacheBlocks = 1,
  7: bool raw = 0,
  /** Of scans that are not raw and have no filter: ttlMillis of their cells, too. */
  8: bool lifetimes = 0
}

/** Where a scan goes on, for its next page alone. Whoever may not read the whole table gets a sealed one: cellsDone is -1,
 * and row something that only the server reads. */
struct AdminPosition {
  1: binary row,
  2: i64 cellsDone = 0,
  3: binary filterState,
  4: binary column,
  5: i64 timestamp = 0,
  6: i64 versions = 0
}

/** One page of the rows from start (included) to stop (not included; empty: the end); `reversed` walks them from the
 * end. There is no scanner to close: the answer says where to go on. */
struct AdminScan {
  1: AdminRead read,
  2: binary startRow,
  3: binary stopRow,
  4: bool reversed = 0,
  5: i32 cellsPerRow = 0,
  6: i32 maxRows = 1000,
  7: optional AdminPosition position
}

/** What the page cost: rows looked at, those that the filter dropped included, and tablets begun. */
struct AdminPage {
  1: list<AdminRow> rows,
  2: optional AdminPosition position,
  3: i64 rowsScanned = 0,
  4: i64 tablets = 0,
  /** The cells have theirs. False of an older release, which does not know the question. */
  5: bool lifetimes = 0
}

/** A column of adminScanArrow. Its values are read as `readAs`: int8 to int64 and uint8 to uint64, float and double,
 * big-endian; bool, a byte; string, UTF-8; binary, whatever they are. */
struct AdminArrowColumn {
  1: binary family,
  2: binary qualifier,
  3: string readAs = "binary"
}

/** Record batches, as a stream of Arrow's IPC format; empty: none. A page without any may have a position all the same. */
struct AdminArrowPage {
  1: binary batches,
  2: optional AdminPosition position,
  3: i64 rowsScanned = 0,
  4: i64 tablets = 0
}

/** What to compute: "rows", "cells" and the "last" row of a group, "count", "distinct", "sum", "min", "max" and "avg" of a column, or
 * without a qualifier of a family. `readAs`, of the last four: int8 to int64, uint8 to uint64, float, double, or number, a
 * decimal number as text. */
struct AdminAggregate {
  1: string kind,
  2: binary family,
  3: optional binary qualifier,
  4: string readAs
}

/** Of rows that begin with the same rowBytes bytes, or are the same up to rowDelimiter; of the cells of each column; without
 * any of these of all rows, whose group is empty. With maxRows a page is of at most so many rows. */
struct AdminAggregation {
  1: list<AdminAggregate> aggregates,
  2: i64 rowBytes = 0,
  3: binary rowDelimiter,
  4: bool byColumn = 0,
  5: i64 maxRows = 0
}

/** `states` is a JSON list with an element for each aggregate, to be merged with those of the group in other pages. rows,
 * cells, count: a whole number, to be added. last: null, or base64 of a row, of which the greatest counts. min, max: null, or a text: a whole number in decimal, or a float in
 * hexadecimal. sum, avg: a list: how many values, the total as a hexadecimal whole number, and flags that are or-ed: 1 NaN,
 * 2 infinity, 4 negative infinity, 8 a float; the total counts ones, or of float, double and number units of 2 ** -1074.
 * distinct: a text: "f" and base64 of up to 512 hashes of 8 bytes, or "r" and base64 of 4096 registers of HyperLogLog. */
struct AdminGroup {
  1: binary key,
  2: binary states
}

/** The groups of a page's rows, in no order. A page without any may have a position all the same. */
struct AdminAggregatedPage {
  1: list<AdminGroup> groups,
  2: optional AdminPosition position,
  3: i64 rowsScanned = 0,
  4: i64 tablets = 0
}

/** kind: 1 delete family, 2 family version, 3 column, 4 version (timestamp -1: the newest), 8 put; in adminMutateIf and
 * adminCheckAndMutate alone 16 increment (the value: an amount of eight bytes, big-endian) and 17 append, of columns that
 * no other operation of the call names. A delete of the family without a name is one of the whole row, for clients that
 * may not see which families there are. Older servers refuse all three. */
struct AdminOperation {
  1: i32 kind = 8,
  2: binary family,
  3: binary qualifier,
  4: i64 timestamp = -1,
  5: binary value
}

/** One row of adminMutateRows. */
struct AdminMutation {
  1: binary row,
  2: list<AdminOperation> operations,
  /** Puts expire so long after their time; 0: never. Older releases pass over it. */
  3: optional i64 ttlMillis
}

/** Rights of a user, or a group as @NAME: letters of RWXCA. Without names everywhere, else on a namespace, a table (in any
 * spelling), a family or a column of one; a qualifier may be empty. */
struct AdminGrant {
  1: string holder,
  2: string actions,
  3: binary namespaceName,
  4: binary table,
  5: binary family,
  6: optional binary qualifier
}

/** Whose calls those of a connection are; without a name nobody's, where nobody has to say who he is. */
struct AdminUser {
  1: string name,
  2: list<string> groups
}

service HbtableAdmin {
  /* ------------------------------------------------------------------------------------------ tables */
  /** By name, ascending; tables being created or dropped are left out. */
  list<AdminTable> adminTables() throws (1: IOError io)
  AdminTable adminTable(1: binary name) throws (1: IOError io, 2: IllegalArgument ia)
  /** On return every tablet is served. */
  void adminCreateTable(1: AdminTable table, 2: list<binary> splitRows) throws (1: IOError io, 2: IllegalArgument ia)
  /** The whole schema; refused unless `version` is one more than the table's. In effect everywhere on return. */
  void adminAlterTable(1: AdminTable table) throws (1: IOError io, 2: IllegalArgument ia)

  /* -------------------------------------------------------------------------------------- namespaces */
  list<binary> adminNamespaces() throws (1: IOError io)
  map<string, string> adminNamespace(1: binary name) throws (1: IOError io, 2: IllegalArgument ia)

  /* ------------------------------------------------------------------------------------ tablets, servers */
  list<AdminTablet> adminTablets(1: binary name) throws (1: IOError io, 2: IllegalArgument ia)
  /** Of the tablet that holds the row: where it is now, and the events that METADATA has of it. */
  AdminTabletHistory adminTabletHistory(1: binary name, 2: binary row) throws (1: IOError io, 2: IllegalArgument ia)
  /** Those that are named, each once, by host, `host,port`, `host,port,startcode` or as AdminServer.name; without names
   * all. */
  list<AdminServer> adminServers(1: list<binary> names) throws (1: IOError io, 2: IllegalArgument ia)
  /** One look at everything. */
  AdminStatus adminStatus() throws (1: IOError io)
  /** What was written before the call is in SSTables on return: of the table, or of one tablet of it. */
  void adminFlush(1: binary name, 2: i64 tabletId = 0) throws (1: IOError io, 2: IllegalArgument ia)
  /** Starts it in the background: of the table, or of one tablet of it; of one family, which means its locality group,
   * or of all. */
  void adminCompact(1: binary name, 2: bool major, 3: i64 tabletId = 0, 4: binary family)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** Starts it in the background: of all tablets of a server, by `host,port,startcode`, `host,port` or host. */
  void adminCompactServer(1: binary server, 2: bool major) throws (1: IOError io, 2: IllegalArgument ia)
  /** NONE, MINOR, MAJOR or MAJOR_AND_MINOR: what of the table's tablets runs or waits for its turn. */
  string adminCompactionState(1: binary name) throws (1: IOError io, 2: IllegalArgument ia)
  /** At the row, or without one every tablet, or the one that is named, at its middle. False: nothing to split. */
  bool adminSplit(1: binary name, 2: binary row, 3: i64 tabletId = 0) throws (1: IOError io, 2: IllegalArgument ia)

  /** Whether tablets may be split, by themselves too ("splits"), or merged ("merges"); kept until it is switched again.
   * Whether they could before. */
  bool adminSwitch(1: binary name, 2: bool on) throws (1: IOError io, 2: IllegalArgument ia)
  bool adminIsOn(1: binary name) throws (1: IOError io, 2: IllegalArgument ia)

  /* ------------------------------------------------------------------------------------------ chores */
  /** On return no block of the table that was cached before the call is cached any more. */
  AdminCacheEviction adminClearBlockCache(1: binary name) throws (1: IOError io, 2: IllegalArgument ia)
  /** One garbage collection, over on return: how many rows of METADATA went that belonged to no table. */
  i64 adminRunCatalogJanitor() throws (1: IOError io)
  /** The same: whether nothing is left that is not old enough to be deleted for good. */
  bool adminRunCleaner() throws (1: IOError io)
  /** By their names as adminServers has them. */
  list<string> adminDecommissioned() throws (1: IOError io)
  list<AdminTransition> adminTransitions() throws (1: IOError io)
  /** Servers that are gone, and whose log a tablet still needs. */
  list<string> adminDeadServers() throws (1: IOError io)
  /** Owners of tablets that neither live nor are known to be dead. */
  list<string> adminUnknownServers() throws (1: IOError io)
  /** Of this gateway alone, newest first. */
  list<AdminSlowRequest> adminSlowRequests() throws (1: IOError io)
  void adminClearSlowRequests() throws (1: IOError io)

  /* ------------------------------------------------------------------------------------------- cells */
  /** The row, or an empty list. */
  list<AdminRow> adminGet(1: binary table, 2: binary row, 3: AdminRead read)
    throws (1: IOError io, 2: IllegalArgument ia)
  AdminPage adminScan(1: binary table, 2: AdminScan scan) throws (1: IOError io, 2: IllegalArgument ia)
  /** A page of a scan as record batches. With columns: a record a row that has any of the columns or families which
   * `scan` reads, or of these, if it names none: the row, and the newest value of each, null where there is none.
   * Without: a record a cell: row, column, timestamp, value. Refused by a server that has no pyarrow. */
  AdminArrowPage adminScanArrow(1: binary table, 2: AdminScan scan, 3: list<AdminArrowColumn> columns)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** An aggregate of the rows that `scan` reads, whole ones; its maxRows is passed over. A page is of as many rows as the
   * server can deal with in some seconds. */
  AdminAggregatedPage adminAggregate(1: binary table, 2: AdminScan scan, 3: AdminAggregation aggregation)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** All or nothing, in this order. ttlMillis 0: for ever. */
  void adminMutate(1: binary table, 2: binary row, 3: list<AdminOperation> operations, 4: i64 ttlMillis)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** Row by row in this order, each all or nothing. */
  void adminMutateRows(1: binary table, 2: list<AdminMutation> mutations) throws (1: IOError io, 2: IllegalArgument ia)
  /** As adminMutate, if the newest value of the column is `expected`; an empty one expects a missing or empty cell.
   * Whether it was done. */
  bool adminCheckAndMutate(1: binary table, 2: binary row, 3: binary family, 4: binary qualifier, 5: binary expected,
    6: list<AdminOperation> operations) throws (1: IOError io, 2: IllegalArgument ia)
  /** As adminMutate, if the row meets a condition. Without an operator: if `read` finds a cell. Else the newest cell that
   * it finds in the one column it names stands so (=, !=, <, <=, >, >=) to `value`; none is no value. With the operator
   * "always" it is done, and `read` names no column: for increments and appends. Whether it was done. */
  bool adminMutateIf(1: binary table, 2: binary row, 3: AdminRead read, 4: string compare, 5: binary value,
    6: list<AdminOperation> operations) throws (1: IOError io, 2: IllegalArgument ia)
  /** All rows from startRow on and before stopRow (empty: to the end), by one change in each of the table's tablets,
   * whatever the rows hold. Cells later than `timestamp` stay (-1: than any time that the server assigned), and so does
   * all that is written afterwards. */
  void adminDeleteRange(1: binary table, 2: binary startRow, 3: binary stopRow, 4: i64 timestamp = -1)
    throws (1: IOError io, 2: IllegalArgument ia)

  /* ----------------------------------------------------------------------------------- permissions */
  /** Added to what the holder has at exactly this scope, or with `replace` in its place. In force everywhere within a
   * second. */
  void adminGrant(1: AdminGrant grant, 2: bool replace = 0) throws (1: IOError io, 2: IllegalArgument ia)
  /** At exactly this scope; without actions all that the holder has there. */
  void adminRevoke(1: AdminGrant grant) throws (1: IOError io, 2: IllegalArgument ia)
  /** At the scope that `wanted` names, and below a table or a family; of its holder alone, if it has one. */
  list<AdminGrant> adminGrants(1: AdminGrant wanted) throws (1: IOError io, 2: IllegalArgument ia)
  AdminUser adminWhoAmI() throws (1: IOError io)

  /* ------------------------------------------------------- what rpc/services.py declares: make interfaces */
  /** All cells are gone and the table is enabled on return; one tablet, or those it had. TableNotFound,
   * TableNotDisabled. */
  void adminTruncateTable(1: binary name, 2: bool keepSplits) throws (1: IOError io, 2: IllegalArgument ia)
  /** Served by that server on return, loaded anew if it had it; "": by the least loaded other one, if there is one.
   * TableNotFound, TableNotEnabled, InvalidRequest for an unknown tablet or server. MoveFailed: it was taken from its
   * server, and that one could not load it. */
  void adminMove(1: binary name, 2: i64 tabletId, 3: binary server) throws (1: IOError io, 2: IllegalArgument ia)
  /** They are one tablet, served, on return. TableNotFound, TableNotEnabled, InvalidRequest unless they are two or more
   * neighbours of this table; Unavailable when nothing was merged; OutcomeUnknown: perhaps some. */
  void adminMerge(1: binary name, 2: list<i64> tabletIds) throws (1: IOError io, 2: IllegalArgument ia)
  /** Moves tablets until all servers serve about as many. False: it is switched off, or the cluster is not calm enough:
   * a tablet has no server, or a server is stopping or silent; or other operations go on with what could move. */
  bool adminBalance() throws (1: IOError io)
  /** Whether the master balances by itself from now on; whether it did before. */
  bool adminBalanceSwitch(1: bool on) throws (1: IOError io)
  /** Whether it does now. */
  bool adminBalancerEnabled() throws (1: IOError io)
  /** Small and emptied neighbours in these tables, in all without any, are merged from now on, in the background.
   * False: it is switched off. Older releases do not know the call. */
  bool adminNormalize(1: list<binary> tables) throws (1: IOError io, 2: IllegalArgument ia)
  /** Whether the master merges them, by itself or when it is asked, from now on; whether it did before. Older releases
   * do not know the call. */
  bool adminNormalizerSwitch(1: bool on) throws (1: IOError io)
  /** Whether it does now. Older releases do not know the call. */
  bool adminNormalizerEnabled() throws (1: IOError io)
  /** No tablet is placed on these tablet servers from now on, for as long as they live; with `offload` those that they
   * serve are moved away in the background. InvalidRequest: one of them is not there, or no other one would be left to
   * take tablets; none was marked. */
  void adminDecommission(1: list<binary> servers, 2: bool offload) throws (1: IOError io, 2: IllegalArgument ia)
  /** The server takes tablets again. InvalidRequest when it is not there. */
  void adminRecommission(1: binary server) throws (1: IOError io, 2: IllegalArgument ia)
  /** The master looks at every tablet at once, and repairs what it finds, whether or not servers came or went. */
  void adminRunRepair() throws (1: IOError io)
  /** AlreadyExists, InvalidRequest. */
  void adminCreateNamespace(1: binary name, 2: map<string, string> properties)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** All its properties from now on. NamespaceNotFound, InvalidRequest for one that cannot be changed. */
  void adminAlterNamespace(1: binary name, 2: map<string, string> properties)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** NamespaceNotFound; InvalidRequest while it holds tables, and for those that always exist. */
  void adminDeleteNamespace(1: binary name) throws (1: IOError io, 2: IllegalArgument ia)
  /** At most `limit` of what HBase's `throttle_type` counts (REQUEST_NUMBER, WRITE_SIZE...) in so many `seconds`. It
   * holds for each tablet server, or with `cluster` for all together. It counts calls of this user, calls for this
   * namespace or table, or with `every_server` all calls. 0: no limit; if no type is given, none of any type.
   * InvalidRequest, LimitExceeded. Older releases do not know the call. */
  void adminSetThrottle(1: string user, 2: binary namespaceName, 3: binary table, 4: bool everyServer,
    5: string throttleType, 6: i64 limit, 7: i64 seconds, 8: bool cluster) throws (1: IOError io, 2: IllegalArgument ia)
  /** The files of this table, or of this namespace's tables together, have at most `limit` bytes. When they have more,
   * HBase's `policy` (NO_INSERTS, NO_WRITES, NO_WRITES_COMPACTIONS, DISABLE) is in force within some seconds, until
   * they have less. 0: no limit. InvalidRequest, LimitExceeded. Older releases do not know the call. */
  void adminSetSpaceLimit(1: binary namespaceName, 2: binary table, 3: i64 limit, 4: string policy)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** Each table that users made: `table`, `bytes` of its files, and `limit`, `policy` and `violated` if it has a limit
   * of space, or its namespace. Unavailable while a tablet server does not answer. Older releases do not know the call.
   * */
  list<map<string, string>> adminSpaceUsage() throws (1: IOError io)
  /** Whether this user's calls count for no throttle but his own. InvalidRequest, LimitExceeded. Older releases do not
   * know the call. */
  void adminSetQuotaExemption(1: string user, 2: bool exempt) throws (1: IOError io, 2: IllegalArgument ia)
  /** Whether throttles are in force from now on; whether they were before. Older releases do not know the call. */
  bool adminSetThrottling(1: bool on) throws (1: IOError io)
  /** Whether they are now. Older releases do not know the call. */
  bool adminThrottlingEnabled() throws (1: IOError io)
  /** Everything that is set: of each `user`, `namespace` and `table` as they are named, then `type`, `limit`, `seconds`
   * and `scope`, or `space`, `policy` and `violated`, or `exempt`. Older releases do not know the call. */
  list<map<string, string>> adminQuotas() throws (1: IOError io)
  /** Begins a new file of the log. The one before it is deleted as soon as no tablet needs it. Of each of these
   * servers, as adminServers takes them; of none: of all that live. */
  void adminRollLog(1: list<binary> servers) throws (1: IOError io, 2: IllegalArgument ia)
  /** Whether this server does merging and major compactions from now on, until it ends: off, those under way are given
   * up, and what is asked for is SwitchedOff. Whether it did before. Of each of these servers, as adminServers takes
   * them; of none: of all that live. The answers are by `host,port,startcode`. */
  map<string, bool> adminCompactionSwitch(1: bool on, 2: list<binary> servers)
    throws (1: IOError io, 2: IllegalArgument ia)
  /** Disk, memory and requests of the column families of its tablets, of this table or of all, as
   * model.usage.FamilyUsage has them: `table`, `families` (those of a locality group, with "/" between) and each number
   * in decimal. Older releases do not know the call. Of each of these servers, as adminServers takes them; of none: of
   * all that live. The answers are by `host,port,startcode`. */
  map<string, list<map<string, string>>> adminFamilyUsage(1: binary table, 2: list<binary> servers)
    throws (1: IOError io, 2: IllegalArgument ia)
}
