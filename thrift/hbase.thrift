/*
 * HBase's Thrift 1 service as hbtable speaks it. Written from the public description of the interface (names, field
 * numbers, types); the comments tell what the server really does.
 *
 * Everywhere:
 *   - Rows, columns, values and table names are raw bytes. A row holds 1 to 32,767 bytes, a cell up to 10 MiB.
 *   - A column is "family:qualifier", cut at the first colon. "family" alone means the whole family in reads and
 *     deletes; "family:" is exactly the column with the empty qualifier.
 *   - Times are milliseconds since 1970. An upper bound of a read is exclusive, that of a delete inclusive.
 *     9223372036854775807 means "no bound" in reads and "the server's time" in writes.
 *   - An absent argument, null and an empty attribute map are the same. The one attribute that is obeyed is "_ttl":
 *     eight bytes, big-endian, milliseconds that the written cells live.
 *   - Messages of exceptions begin with the Java class that HBase throws, then one sentence.
 */

namespace java org.apache.hadoop.hbase.thrift.generated
namespace cpp apache.hadoop.hbase.thrift
namespace rb Apache.Hadoop.Hbase.Thrift
namespace py hbase
namespace perl Hbase
namespace php Hbase

typedef binary Text
typedef binary Bytes
typedef i32 ScannerID

/** Which of HBase's two Thrift services a port speaks. This one is ONE. */
enum TThriftServerType {
  ONE = 1,
  TWO = 2
}

/** What a permission is about. Without access control (auth.enabled) grant and revoke are refused. */
enum TPermissionScope {
  TABLE = 0,
  NAMESPACE = 1
}

/** One version of one column. */
struct TCell {
  1: Bytes value,
  2: i64 timestamp
}

/**
 * A column family. Names go out with a trailing colon and come in with or without one. Compression is matched in upper
 * case: NONE, GZ, SNAPPY, LZ4, BZIP2, ZSTD, LZO. Bloom filters: NONE, ROW, ROWCOL. A timeToLive (seconds) of zero or
 * less means forever, reported as 2147483647. The two bloomFilter numbers are ignored and reported as 0.
 */
struct ColumnDescriptor {
  1: Text name,
  2: i32 maxVersions = 3,
  3: string compression = "NONE",
  4: bool inMemory = 0,
  5: string bloomFilterType = "NONE",
  6: i32 bloomFilterVectorSize = 0,
  7: i32 bloomFilterNbHashes = 0,
  8: bool blockCacheEnabled = 0,
  9: i32 timeToLive = 0x7fffffff
}

/** A tablet: rows from startKey (included) to endKey (not included); an empty key is the end of the table. */
struct TRegionInfo {
  1: Text startKey,
  2: Text endKey,
  3: i64 id,
  4: Text name,
  5: byte version,
  6: Text serverName,
  7: i32 port
}

/**
 * Sets a column, or deletes it when isDelete is set (value is ignored then). A put needs a colon in the column; an
 * absent value is stored as an empty one. writeToWAL = false skips the commit log: such a write is lost in a crash.
 */
struct Mutation {
  1: bool isDelete = 0,
  2: Text column,
  3: Text value,
  4: bool writeToWAL = 1
}

/** The mutations of one row in mutateRows. */
struct BatchMutation {
  1: Text row,
  2: list<Mutation> mutations
}

/** One counter increment. "ammount" is the field's real name. */
struct TIncrement {
  1: Text table,
  2: Text row,
  3: Text column,
  4: i64 ammount
}

/** A column with its name, for answers whose columns keep their order. */
struct TColumn {
  1: Text columnName,
  2: TCell cell
}

/** A row, the newest version of each column: `columns`, or `sortedColumns` where a scan asked for sortColumns. */
struct TRowResult {
  1: Text row,
  2: optional map<Text, TCell> columns,
  3: optional list<TColumn> sortedColumns
}

/**
 * What to scan. startRow is included and stopRow is not; the same row in both means that row. batchSize cuts rows into
 * pieces of at most so many cells. A reversed scan begins at startRow (or the closest smaller row, or the last one
 * when empty) and goes down. caching and cacheBlocks change speed only.
 */
struct TScan {
  1: optional Text startRow,
  2: optional Text stopRow,
  3: optional i64 timestamp,
  4: optional list<Text> columns,
  5: optional i32 caching,
  6: optional Text filterString,
  7: optional i32 batchSize,
  8: optional bool sortColumns,
  9: optional bool reversed,
  10: optional bool cacheBlocks
}

/** Suffixes for columns of one row; both lists have the same length. */
struct TAppend {
  1: Text table,
  2: Text row,
  3: list<Text> columns,
  4: list<Text> values
}

/** Whom to permit what. There is no field 3. */
struct TAccessControlEntity {
  1: required string username,
  2: required TPermissionScope scope,
  4: required string actions,
  5: optional Bytes tableName,
  6: optional string nsName
}

/** Anything but a bad argument. canRetry tells whether the same call may succeed later. */
exception IOError {
  1: string message,
  2: bool canRetry,
  /** Not HBase's: hbtable's class of the error and its ancestors, nearest first, for hbtable.connect(). */
  100: optional list<string> classes
}

/** The call can never succeed as it stands; also an unknown, closed or expired scanner: "scanner ID is invalid". */
exception IllegalArgument {
  1: string message,
  100: optional list<string> classes
}

/** "table name already in use" */
exception AlreadyExists {
  1: string message,
  100: optional list<string> classes
}

service Hbase {
  /* ------------------------------------------------------------------------------------------ tables */

  /** On return every tablet is served. Refused for an enabled table. */
  void enableTable(1: Bytes tableName) throws (1: IOError io)

  /** On return nobody can read or write it. Refused for a disabled table. */
  void disableTable(1: Bytes tableName) throws (1: IOError io)

  /** A missing table is an IOError. */
  bool isTableEnabled(1: Bytes tableName) throws (1: IOError io)

  /** Merges files in the background. */
  void compact(1: Bytes tableNameOrRegionName) throws (1: IOError io)

  /** A real major compaction: deleted data is gone after it. Small tables are done on return, others soon after. */
  void majorCompact(1: Bytes tableNameOrRegionName) throws (1: IOError io)

  /** User tables of all namespaces, sorted; "namespace:table" outside the default namespace. */
  list<Text> getTableNames() throws (1: IOError io)

  map<Text, bool> getTableNamesWithIsTableEnabled() throws (1: IOError io)

  /** Keys and names end with a colon. */
  map<Text, ColumnDescriptor> getColumnDescriptors(1: Text tableName) throws (1: IOError io)

  /** In key order; a missing table has none. */
  list<TRegionInfo> getTableRegions(1: Text tableName) throws (1: IOError io)

  /** On return the table is enabled. Existence is checked before the families. */
  void createTable(1: Text tableName, 2: list<ColumnDescriptor> columnFamilies)
    throws (1: IOError io, 2: IllegalArgument ia, 3: AlreadyExists exist)

  /** Refused unless disabled. */
  void deleteTable(1: Text tableName) throws (1: IOError io)

  /* ------------------------------------------------------------------------------------------- reads */

  /** The newest version; nothing there: an empty list. A family gives the newest of each of its columns. */
  list<TCell> get(1: Text tableName, 2: Text row, 3: Text column, 4: map<Text, Text> attributes) throws (1: IOError io)

  /** Up to numVersions versions, newest first. */
  list<TCell> getVer(1: Text tableName, 2: Text row, 3: Text column, 4: i32 numVersions, 5: map<Text, Text> attributes)
    throws (1: IOError io)

  /** As getVer, of versions older than timestamp. */
  list<TCell> getVerTs(1: Text tableName, 2: Text row, 3: Text column, 4: i64 timestamp, 5: i32 numVersions,
    6: map<Text, Text> attributes) throws (1: IOError io)

  /** The row, or an empty list. */
  list<TRowResult> getRow(1: Text tableName, 2: Text row, 3: map<Text, Text> attributes) throws (1: IOError io)

  /** Of the columns named, all that are there; a list with a family and its columns is their union. */
  list<TRowResult> getRowWithColumns(1: Text tableName, 2: Text row, 3: list<Text> columns,
    4: map<Text, Text> attributes) throws (1: IOError io)

  list<TRowResult> getRowTs(1: Text tableName, 2: Text row, 3: i64 timestamp, 4: map<Text, Text> attributes)
    throws (1: IOError io)

  list<TRowResult> getRowWithColumnsTs(1: Text tableName, 2: Text row, 3: list<Text> columns, 4: i64 timestamp,
    5: map<Text, Text> attributes) throws (1: IOError io)

  /** In the order asked; missing rows are left out, a row asked twice comes twice. */
  list<TRowResult> getRows(1: Text tableName, 2: list<Text> rows, 3: map<Text, Text> attributes) throws (1: IOError io)

  list<TRowResult> getRowsWithColumns(1: Text tableName, 2: list<Text> rows, 3: list<Text> columns,
    4: map<Text, Text> attributes) throws (1: IOError io)

  list<TRowResult> getRowsTs(1: Text tableName, 2: list<Text> rows, 3: i64 timestamp, 4: map<Text, Text> attributes)
    throws (1: IOError io)

  list<TRowResult> getRowsWithColumnsTs(1: Text tableName, 2: list<Text> rows, 3: list<Text> columns, 4: i64 timestamp,
    5: map<Text, Text> attributes) throws (1: IOError io)

  /* ------------------------------------------------------------------------------------------ writes */

  /** All or nothing, deletes before puts, so that a put of the same call survives. */
  void mutateRow(1: Text tableName, 2: Text row, 3: list<Mutation> mutations, 4: map<Text, Text> attributes)
    throws (1: IOError io, 2: IllegalArgument ia)

  /** As mutateRow at a given time: there a delete masks a put of the same call. */
  void mutateRowTs(1: Text tableName, 2: Text row, 3: list<Mutation> mutations, 4: i64 timestamp,
    5: map<Text, Text> attributes) throws (1: IOError io, 2: IllegalArgument ia)

  /** Row by row in the caller's order, each row all or nothing. A row may come twice. */
  void mutateRows(1: Text tableName, 2: list<BatchMutation> rowBatches, 3: map<Text, Text> attributes)
    throws (1: IOError io, 2: IllegalArgument ia)

  void mutateRowsTs(1: Text tableName, 2: list<BatchMutation> rowBatches, 3: i64 timestamp,
    4: map<Text, Text> attributes) throws (1: IOError io, 2: IllegalArgument ia)

  /** Adds to an 8-byte big-endian counter, atomically; a missing one counts as 0 and is created. The new value. */
  i64 atomicIncrement(1: Text tableName, 2: Text row, 3: Text column, 4: i64 value)
    throws (1: IOError io, 2: IllegalArgument ia)

  /** Every version of a column, or of a family. */
  void deleteAll(1: Text tableName, 2: Text row, 3: Text column, 4: map<Text, Text> attributes) throws (1: IOError io)

  /** Versions up to and including timestamp. */
  void deleteAllTs(1: Text tableName, 2: Text row, 3: Text column, 4: i64 timestamp, 5: map<Text, Text> attributes)
    throws (1: IOError io)

  void deleteAllRow(1: Text tableName, 2: Text row, 3: map<Text, Text> attributes) throws (1: IOError io)

  /** As atomicIncrement, visible on return; the column needs a qualifier part. */
  void increment(1: TIncrement increment) throws (1: IOError io)

  /** One after the other, ends at the first failure. */
  void incrementRows(1: list<TIncrement> increments) throws (1: IOError io)

  void deleteAllRowTs(1: Text tableName, 2: Text row, 3: i64 timestamp, 4: map<Text, Text> attributes)
    throws (1: IOError io)

  /* ---------------------------------------------------------------------------------------- scanners */

  /** A missing table or family and a disabled table are reported here, not at the first fetch. */
  ScannerID scannerOpenWithScan(1: Text tableName, 2: TScan scan, 3: map<Text, Text> attributes) throws (1: IOError io)

  ScannerID scannerOpen(1: Text tableName, 2: Text startRow, 3: list<Text> columns, 4: map<Text, Text> attributes)
    throws (1: IOError io)

  ScannerID scannerOpenWithStop(1: Text tableName, 2: Text startRow, 3: Text stopRow, 4: list<Text> columns,
    5: map<Text, Text> attributes) throws (1: IOError io)

  ScannerID scannerOpenWithPrefix(1: Text tableName, 2: Text startAndPrefix, 3: list<Text> columns,
    4: map<Text, Text> attributes) throws (1: IOError io)

  ScannerID scannerOpenTs(1: Text tableName, 2: Text startRow, 3: list<Text> columns, 4: i64 timestamp,
    5: map<Text, Text> attributes) throws (1: IOError io)

  ScannerID scannerOpenWithStopTs(1: Text tableName, 2: Text startRow, 3: Text stopRow, 4: list<Text> columns,
    5: i64 timestamp, 6: map<Text, Text> attributes) throws (1: IOError io)

  /** The next row; an empty list at the end, again and again. */
  list<TRowResult> scannerGet(1: ScannerID id) throws (1: IOError io, 2: IllegalArgument ia)

  /** The next nbRows rows; fewer only at the end, or where the answer would pass the message limit. */
  list<TRowResult> scannerGetList(1: ScannerID id, 2: i32 nbRows) throws (1: IOError io, 2: IllegalArgument ia)

  /** Scanners that nobody used for an hour are closed as well. */
  void scannerClose(1: ScannerID id) throws (1: IOError io, 2: IllegalArgument ia)

  /* ------------------------------------------------------------------------------------------- other */

  /** The tablet at or before a METADATA key such as "table,row,99999999999999". */
  TRegionInfo getRegionInfo(1: Text row) throws (1: IOError io)

  /** Atomically appends; the new cells in the order of the request. */
  list<TCell> append(1: TAppend append) throws (1: IOError io)

  /** Puts mput if the column's newest value is `value`; an empty or absent one expects a missing or empty cell. */
  bool checkAndPut(1: Text tableName, 2: Text row, 3: Text column, 5: Text value, 6: Mutation mput,
    7: map<Text, Text> attributes) throws (1: IOError io, 2: IllegalArgument ia)

  /** ONE */
  TThriftServerType getThriftServerType()

  string getClusterId()

  /** Refused without access control (auth.enabled). Of a table or a namespace; added to what the user has there. */
  bool grant(1: TAccessControlEntity info) throws (1: IOError io)

  /** Refused without access control. The actions that are named, at exactly this table or namespace. */
  bool revoke(1: TAccessControlEntity info) throws (1: IOError io)
}
