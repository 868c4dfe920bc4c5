// The checks of languages/README.md for Thrift2 in Node, with code generated from thrift/hbase2.thrift.
//
//   program.js HOST PORT buffered|framed binary|compact
//
// Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
"use strict";

const { deepStrictEqual } = require("node:assert");
const { randomBytes } = require("node:crypto");
const Int64 = require("node-int64");
const thrift = require("thrift");
const THBaseService = require("./gen-nodejs/THBaseService");
const types = require("./gen-nodejs/hbase2_types");

const TRANSPORTS = { buffered: thrift.TBufferedTransport, framed: thrift.TFramedTransport };
const PROTOCOLS = { binary: thrift.TBinaryProtocol, compact: thrift.TCompactProtocol };
const bytes = (...values) => Buffer.from(values);
const text = (string) => Buffer.from(string, "latin1");
const F = text("f");
const N = text("n");
const Q = text("\0q");
const SPLITS = [text("b"), bytes(0x80, 0)];
const BINARY = [
  [bytes(0), Buffer.from(Array.from({ length: 256 }, (_, i) => i))],
  [bytes(0x80, 0xc3, 0x28), bytes(0xff, 0xfe, 0x00)], // not UTF-8, in the key and in the value
  [bytes(0xff), bytes()],
];
const TEXTS = [["a1", "1"], ["a2", "2"], ["b1", "3"], ["c1", "4"]].map((pair) => pair.map(text));
const ROWS = [...BINARY, ...TEXTS].map(([row]) => row).sort(Buffer.compare);
const get = (row, more) => new types.TGet({ row: text(row), ...more });
const put = (row, value, family = F, timestamp = null) =>
  new types.TPut({ row, columnValues: [new types.TColumnValue({ family, qualifier: Q, value, timestamp })] });
const rows = (results) => results.map((result) => result.row);
let checks = 0;

function check(what, got, expected) {
  checks += 1;
  deepStrictEqual(got, expected, `${what}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}

/** The promise is rejected with an `error` whose message holds `message`. */
async function refused(what, error, message, promise) {
  const raised = await promise.then((answer) => JSON.stringify(answer) ?? "an answer", (reason) => reason);
  if (!(raised instanceof error)) throw new Error(`${what}: got ${raised}, expected ${error.name}`);
  check(what, raised.message.includes(message) || raised.message, true);
}

async function makeTable(client, name, table) {
  const f = new types.TColumnFamilyDescriptor({ name: F, maxVersions: 5 });
  const columns = [f, new types.TColumnFamilyDescriptor({ name: N })];
  const descriptor = new types.TTableDescriptor({ tableName: name, columns });
  await client.createTable(descriptor, SPLITS);
  check("the new table is there", await client.tableExists(name), true);
  check("versions of f", (await client.getTableDescriptor(name)).columns[0].maxVersions, 5);
  const locations = await client.getAllRegionLocations(table);
  check("the ends of its regions", locations.map((one) => one.regionInfo.endKey), [...SPLITS, bytes()]);
  await refused("second create", types.TIOError, table.toString(), client.createTable(descriptor, null));
}

async function writeAndRead(client, name, table) {
  await client.putMultiple(table, [...BINARY, ...TEXTS].map(([row, value]) => put(row, value)));
  for (const [row, value] of BINARY) {
    const result = await client.get(table, new types.TGet({ row }));
    check(`value of row ${row.toString("hex")}`, result.columnValues[0].value, value);
  }
  check("a row that is not there", (await client.get(table, get("none"))).row, null);
  const gets = [get("a1", { columns: [new types.TColumn({ family: F, qualifier: Q })] }), get("none")];
  check("several gets", rows(await client.getMultiple(table, gets)), [text("a1"), null]);
  // The library's compact protocol reads every boolean of a list as false.
  check("existsAll", await client.existsAll(table, gets), [process.argv[5] !== "compact", false]);
  for (const time of [1000, 2000]) await client.put(table, put(text("versions"), text("v"), F, new Int64(time)));
  const found = (await client.get(table, get("versions", { maxVersions: 5 }))).columnValues;
  check("versions, newest first", found.map((cell) => Number(cell.timestamp)), [2000, 1000]);
  await client.deleteSingle(table, new types.TDelete({ row: text("versions") }));
  check("a deleted row", await client.exists(table, get("versions")), false);
}

async function scan(client, name, table) {
  const scanner = await client.openScanner(table, new types.TScan({ limit: 5 }));
  check("two rows", rows(await client.getScannerRows(scanner, 2)), ROWS.slice(0, 2));
  const rest = rows(await client.getScannerRows(scanner, 100));
  check("up to the limit, in the next region, too", rest, ROWS.slice(2, 5));
  check("the end of a scan", await client.getScannerRows(scanner, 100), []);
  await client.closeScanner(scanner);
  await refused("closed scanner", types.TIllegalArgument, "Invalid scanner Id", client.getScannerRows(scanner, 1));
  const results = async (asked) => client.getScannerResults(table, new types.TScan(asked), 100);
  const paged = await results({ filterString: text("PageFilter(4)") });
  const counted = process.env.AGAINST_HBASE ? ROWS : ROWS.slice(0, 4); // HBase's counts in each region
  check("PageFilter over regions", rows(paged), counted);
  const back = await results({ startRow: text("c1"), stopRow: text("a1"), reversed: true });
  check("backwards", rows(back), ["c1", "b1", "a2"].map(text));
  await client.putMultiple(table, [F, N].map((family) => put(text("t"), bytes(), family, new Int64(5))));
  const range = new types.TTimeRange({ minStamp: new Int64(0), maxStamp: new Int64(5) });
  const [timed] = await results({ startRow: text("t"), stopRow: text("u"), colFamTimeRangeMap: { f: range } });
  check("a time range for one family", timed.columnValues.map((cell) => cell.family), [N]);
}

async function change(client, name, table) {
  const add = async (amount) => {
    const columns = [new types.TColumnIncrement({ family: N, qualifier: text("c"), amount: new Int64(amount) })];
    const result = await client.increment(table, new types.TIncrement({ row: text("count"), columns }));
    return Number(result.columnValues[0].value.readBigInt64BE());
  };
  check("increment", await add(2 ** 40), 2 ** 40);
  check("increment by less than nothing", await add(-2), 2 ** 40 - 2);
  const columns = [new types.TColumnValue({ family: F, qualifier: Q, value: bytes(0x00, 0xff) })];
  const appended = await client.append(table, new types.TAppend({ row: text("a1"), columns }));
  check("append", appended.columnValues[0].value, bytes(0x31, 0x00, 0xff));
  const a2 = text("a2");
  const only = (one) => new types.TRowMutations({ row: a2, mutations: [new types.TMutation({ put: one })] });
  const greater = (value) =>
    client.checkAndMutate(table, a2, F, Q, types.TCompareOperator.GREATER, text(value), only(put(a2, text("9"))));
  check("2 > 2", await greater("2"), false);
  check("3 > 2", await greater("3"), true);
  check("checkAndPut", await client.checkAndPut(table, a2, F, Q, text("9"), put(a2, text("10"))), true);
  await client.mutateRow(table, only(put(a2, text("n"), N)));
  const cells = (await client.get(table, get("a2"))).columnValues;
  check("cells of a row", cells.map((cell) => cell.value), [text("10"), text("n")]);
}

async function refusalsAndEnd(client, name, table) {
  const missing = Buffer.concat([table, text("_no")]);
  await refused("missing table", types.TIOError, missing.toString(), client.get(missing, get("r")));
  const none = client.get(table, get("a1", { columns: [new types.TColumn({ family: text("none") })] }));
  await refused("missing family", types.TIOError, "NoSuchColumnFamilyException", none);
  await refused("drop while enabled", types.TIOError, "TableNotDisabledException", client.deleteTable(name));
  await client.disableTable(name);
  check("disabled", await client.isTableDisabled(name), true);
  await client.deleteTable(name);
  check("the dropped table is there", await client.tableExists(name), false);
}

async function main([host, port, transport, protocol]) {
  const options = { transport: TRANSPORTS[transport], protocol: PROTOCOLS[protocol] };
  const connection = thrift.createConnection(host, Number(port), options);
  const broken = new Promise((_, reject) => connection.on("error", reject));
  const table = text(`languages_node2_${randomBytes(6).toString("hex")}`);
  const name = new types.TTableName({ qualifier: table });
  const client = thrift.createClient(THBaseService, connection);
  const all = async () => {
    for (const part of [makeTable, writeAndRead, scan, change, refusalsAndEnd]) await part(client, name, table);
  };
  try {
    await Promise.race([all(), broken]);
    console.log(`ok ${checks}`);
  } catch (error) {
    console.log(`after ${checks} checks on ${table}: ${error.name}: ${error.message}`);
    process.exitCode = 1;
  }
  connection.end();
}

main(process.argv.slice(2));
