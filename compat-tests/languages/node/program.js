// The checks of languages/README.md in Node, with code generated from thrift/hbase.thrift.
//
//   program.js HOST PORT buffered|framed|tls|https binary|compact
//
// Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
"use strict";

const { deepStrictEqual } = require("node:assert");
const { randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const Int64 = require("node-int64");
const thrift = require("thrift");
const Hbase = require("./gen-nodejs/Hbase");
const types = require("./gen-nodejs/hbase_types");

const TRANSPORTS = { buffered: thrift.TBufferedTransport, framed: thrift.TFramedTransport };
const PROTOCOLS = { binary: thrift.TBinaryProtocol, compact: thrift.TCompactProtocol };
const bytes = (...values) => Buffer.from(values);
const text = (string) => Buffer.from(string, "utf8");
const BINARY = [
  [bytes(0x00), Buffer.from(Array.from({ length: 256 }, (_, i) => i))],
  [bytes(0x00, 0xff), bytes()],
  [bytes(0x80, 0xc3, 0x28), bytes(0xff, 0xfe, 0x00)], // not UTF-8, in the key and in the value
  [bytes(0xff), bytes(0xc3, 0x28)],
];
const put = (column, value) => new types.Mutation({ column: text(column), value });
let checks = 0;

function check(what, got, expected) {
  checks += 1;
  deepStrictEqual(got, expected, `${what}: got ${show(got)}, expected ${show(expected)}`);
}

function show(value) {
  const readable = (_, part) => (part && part.type === "Buffer" ? Buffer.from(part.data).toString("latin1") : part);
  return JSON.stringify(value, readable);
}

/** The promise is rejected with an `error` whose message begins with `message`. */
async function refused(what, error, message, promise) {
  const raised = await promise.then((answer) => show(answer) ?? "an answer", (reason) => reason);
  if (!(raised instanceof error)) throw new Error(`${what}: got ${raised}, expected ${error.name}`);
  check(what, raised.message.slice(0, message.length), message);
}

async function listed(client, table) {
  return (await client.getTableNames()).some((name) => name.equals(table));
}

async function makeTable(client, table) {
  const f = new types.ColumnDescriptor({ name: text("f"), maxVersions: 5 });
  await client.createTable(table, [f, new types.ColumnDescriptor({ name: text("n:") })]);
  check("the new table is listed", await listed(client, table), true);
  const families = await client.getColumnDescriptors(table);
  check("families", Object.keys(families).sort(), ["f:", "n:"]);
  check("versions of f", families["f:"].maxVersions, 5);
  await refused("second create", types.AlreadyExists, "table name already in use", client.createTable(table, [f]));
}

async function writeAndRead(client, table) {
  const batches = BINARY.map(([row, value]) => new types.BatchMutation({ row, mutations: [put("f:v", value)] }));
  await client.mutateRows(table, batches, {});
  for (const [row, value] of BINARY) {
    check(`value of row ${row.toString("hex")}`, (await client.get(table, row, text("f:v"), {}))[0].value, value);
  }
  const [result] = await client.getRow(table, bytes(0xff), {});
  check("row of getRow", result.row, bytes(0xff));
  const columns = Object.entries(result.columns).map(([name, cell]) => [name, cell.value]);
  check("columns of getRow", columns, [["f:v", bytes(0xc3, 0x28)]]);
  check("a row that is not there", await client.getRow(table, bytes(0xff, 0xff), {}), []);

  const column = Buffer.concat([text("f:"), bytes(0x00, 0xff), text(":"), bytes(0x80)]);
  await client.mutateRow(table, bytes(0), [new types.Mutation({ column, value: text("by name") })], {});
  const named = await client.get(table, bytes(0), column, {});
  check("a column with a binary name", named[0].value, text("by name"));
  await client.mutateRow(table, bytes(0), [new types.Mutation({ isDelete: true, column })], {});
  check("the column after its delete", await client.get(table, bytes(0), column, {}), []);

  for (const [timestamp, value] of [[1000, "old"], [2000, "new"]]) {
    await client.mutateRowTs(table, text("versions"), [put("f:v", text(value))], new Int64(timestamp), {});
  }
  const versions = await client.getVer(table, text("versions"), text("f:v"), 5, {});
  const seen = versions.map((cell) => [Number(cell.timestamp), cell.value]);
  check("versions, newest first", seen, [[2000, text("new")], [1000, text("old")]]);
  await client.deleteAllRow(table, text("versions"), {});
}

async function scan(client, table) {
  const texts = [["text-1", "keep 1"], ["text-2", "drop"], ["text-3", "keep 3"]];
  const rowsOf = texts.map(([row, value]) => ({ row: text(row), mutations: [put("f:v", text(value))] }));
  await client.mutateRows(table, rowsOf.map((batch) => new types.BatchMutation(batch)), {});
  const all = new types.TScan({ columns: [text("f")], sortColumns: true });
  let scanner = await client.scannerOpenWithScan(table, all, {});
  const rows = await client.scannerGetList(scanner, 100);
  const expected = [...BINARY.map(([row]) => row), ...texts.map(([row]) => text(row))].sort(Buffer.compare);
  check("rows in the order of their bytes", rows.map(({ row }) => row), expected);
  check("a sorted column", rows[0].sortedColumns[0].columnName, text("f:v"));
  check("its value", rows[0].sortedColumns[0].cell.value, BINARY[0][1]);
  check("the end of a scan", await client.scannerGetList(scanner, 100), []);
  await client.scannerClose(scanner);
  const invalid = "scanner ID is invalid";
  await refused("closed scanner", types.IllegalArgument, invalid, client.scannerGetList(scanner, 1));
  await refused("unknown scanner", types.IllegalArgument, invalid, client.scannerGetList(2147480000, 1));

  const filterString = text("PrefixFilter('text-') AND ValueFilter(=, 'substring:keep')");
  scanner = await client.scannerOpenWithScan(table, new types.TScan({ filterString }), {});
  const found = (await client.scannerGetList(scanner, 100)).map((row) => [row.row, row.columns["f:v"].value]);
  await client.scannerClose(scanner);
  const chosen = [[text("text-1"), text("keep 1")], [text("text-3"), text("keep 3")]];
  check("rows of a filtered scan", found, chosen);
}

async function countAndCompare(client, table) {
  const add = async (value) =>
    Number(await client.atomicIncrement(table, text("count"), text("n:c"), new Int64(value)));
  check("first increment", await add(2 ** 40), 2 ** 40);
  check("increment by less than nothing", await add(-2), 2 ** 40 - 2);
  const three = { table, row: text("count"), column: text("n:c"), ammount: new Int64(3) };
  await client.increment(new types.TIncrement(three));
  const stored = await client.get(table, text("count"), text("n:c"), {});
  check("counter as stored", stored[0].value, bytes(0, 0, 1, 0, 0, 0, 0, 1));
  const swap = (value) =>
    client.checkAndPut(table, text("text-2"), text("f:v"), text(value), put("f:v", text("after")), {});
  check("checkAndPut of another value", await swap("keep"), false);
  check("checkAndPut of the value", await swap("drop"), true);
  const suffix = { table, row: text("text-2"), columns: [text("f:v")], values: [bytes(0x00, 0xff)] };
  const appended = await client.append(new types.TAppend(suffix));
  check("append", appended.map((cell) => cell.value), [Buffer.concat([text("after"), bytes(0x00, 0xff)])]);
}

async function refusalsAndEnd(client, table) {
  const inPackage = (name) => `org.apache.hadoop.hbase.${name}`;
  const missing = client.getRow(Buffer.concat([table, text("_no")]), text("r"), {});
  await refused("missing table", types.IOError, inPackage("TableNotFoundException"), missing);
  const noFamily = inPackage("regionserver.NoSuchColumnFamilyException");
  await refused("missing family", types.IOError, noFamily, client.get(table, text("r"), text("none:v"), {}));
  const enabled = inPackage("TableNotDisabledException");
  await refused("drop while enabled", types.IOError, enabled, client.deleteTable(table));
  await client.disableTable(table);
  check("enabled after disableTable", await client.isTableEnabled(table), false);
  await client.deleteTable(table);
  check("the dropped table is listed", await listed(client, table), false);
}

// tls and https take the CA of LANGUAGES_CA; https logs in by Basic, as LANGUAGES_USER with LANGUAGES_SECRET.
function connected(host, port, transport, protocol) {
  const options = { transport: TRANSPORTS[transport] ?? TRANSPORTS.buffered, protocol: PROTOCOLS[protocol] };
  if (transport === "tls") {
    const connection = thrift.createSSLConnection(host, port, { ...options, ca: readFileSync(process.env.LANGUAGES_CA) });
    return [connection, thrift.createClient(Hbase, connection)];
  }
  if (transport === "https") {
    const pair = text(`${process.env.LANGUAGES_USER}:${process.env.LANGUAGES_SECRET}`).toString("base64");
    const nodeOptions = { ca: readFileSync(process.env.LANGUAGES_CA) };
    const more = { path: "/", https: true, headers: { Authorization: `Basic ${pair}` }, nodeOptions };
    const connection = thrift.createHttpConnection(host, port, { ...options, ...more });
    return [connection, thrift.createHttpClient(Hbase, connection)];
  }
  const connection = thrift.createConnection(host, port, options);
  return [connection, thrift.createClient(Hbase, connection)];
}

async function main([host, port, transport, protocol]) {
  const [connection, client] = connected(host, Number(port), transport, protocol);
  const broken = new Promise((_, reject) => connection.on("error", reject));
  const table = text(`languages_node_${randomBytes(6).toString("hex")}`);
  const all = async () => {
    for (const part of [makeTable, writeAndRead, scan, countAndCompare, refusalsAndEnd]) await part(client, table);
  };
  try {
    await Promise.race([all(), broken]);
    console.log(`ok ${checks}`);
  } catch (error) {
    console.log(`after ${checks} checks on ${table}: ${error.name}: ${error.message}`);
    process.exitCode = 1;
  }
  connection.end?.(); // HTTP's has no end
}

main(process.argv.slice(2));
