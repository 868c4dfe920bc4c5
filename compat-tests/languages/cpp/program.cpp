// The checks of languages/README.md in C++, with code generated from thrift/hbase.thrift.
//
//   run HOST PORT buffered|framed|tls binary|compact
//
// Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSSLSocket.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "Hbase.h"

using namespace apache::hadoop::hbase::thrift;
using namespace apache::thrift::protocol;
using namespace apache::thrift::transport;
using namespace std::string_literals;  // "\0"s holds the zero byte
using std::string;
using Rows = std::map<string, string>;

static const std::map<Text, Text> none;
static int checks = 0;

static Rows binary_rows() {
    string every;
    for (int byte = 0; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
    return {{"\0"s, every}, {"\0\xff"s, ""}, {"\x80\xc3\x28", "\xff\xfe\0"s}, {"\xff", "\xc3\x28"}};
}

[[noreturn]] static void wrong(const string& what, const string& got, const string& expected) {
    throw std::runtime_error(what + ": got " + got + ", expected " + expected);
}

template <typename T>
static void check(const string& what, const T& got, const T& expected) {
    ++checks;
    if (got == expected) return;
    if constexpr (std::is_integral_v<T>) wrong(what, std::to_string(got), std::to_string(expected));
    if constexpr (std::is_same_v<T, string>) wrong(what, "'" + got + "'", "'" + expected + "'");
    wrong(what, "something else", "what was written");
}

/// `call` throws an Error whose message begins with `message`.
template <typename Error>
static void refused(const string& what, const string& message, const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return check(what, error.message.substr(0, message.size()), message);
    }
    wrong(what, "an answer", message);
}

static Mutation put(const string& column, const string& value) {
    Mutation mutation;
    mutation.__set_column(column);
    mutation.__set_value(value);
    return mutation;
}

static std::vector<BatchMutation> batches(const Rows& rows) {
    std::vector<BatchMutation> all(rows.size());
    auto batch = all.begin();
    for (const auto& [row, value] : rows) {
        batch->__set_row(row);
        batch++->__set_mutations({put("f:v", value)});
    }
    return all;
}

static ColumnDescriptor family(const string& name, int versions) {
    ColumnDescriptor descriptor;
    descriptor.__set_name(name);
    descriptor.__set_maxVersions(versions);
    return descriptor;
}

static bool listed(HbaseClient& client, const string& table) {
    std::vector<Text> names;
    client.getTableNames(names);
    return std::find(names.begin(), names.end(), table) != names.end();
}

static std::vector<string> get(HbaseClient& client, const string& table, const string& row, const string& column) {
    std::vector<TCell> cells;
    client.get(cells, table, row, column, none);
    std::vector<string> values;
    for (const TCell& cell : cells) values.push_back(cell.value);
    return values;
}

static void make_table(HbaseClient& client, const string& table) {
    const std::vector<ColumnDescriptor> families = {family("f", 5), family("n:", 3)};
    client.createTable(table, families);
    check("the new table is listed", listed(client, table), true);
    std::map<Text, ColumnDescriptor> found;
    client.getColumnDescriptors(found, table);
    check("families", found.size() == 2 && found.count("f:") && found.count("n:"), true);
    check("versions of f", found["f:"].maxVersions, 5);
    refused<AlreadyExists>("second create", "table name already in use", [&] { client.createTable(table, families); });
}

static void write_and_read(HbaseClient& client, const string& table) {
    const Rows rows = binary_rows();
    client.mutateRows(table, batches(rows), none);
    for (const auto& [row, value] : rows) check("value of row " + row, get(client, table, row, "f:v"), {value});
    std::vector<TRowResult> results;
    client.getRow(results, table, "\xff", none);
    check("row of getRow", results.at(0).row, "\xff"s);
    Rows columns;
    for (const auto& [name, cell] : results[0].columns) columns[name] = cell.value;
    check("columns of getRow", columns, Rows{{"f:v", "\xc3\x28"}});
    client.getRow(results, table, "\xff\xff", none);
    check("a row that is not there", results.empty(), true);

    const string row = "\0"s, column = "f:\0\xff:\x80"s;
    client.mutateRow(table, row, {put(column, "by name")}, none);
    check("a column with a binary name", get(client, table, row, column), {"by name"});
    Mutation remove;
    remove.__set_isDelete(true);
    remove.__set_column(column);
    client.mutateRow(table, row, {remove}, none);
    check("the column after its delete", get(client, table, row, column), {});

    client.mutateRowTs(table, "versions", {put("f:v", "old")}, 1000, none);
    client.mutateRowTs(table, "versions", {put("f:v", "new")}, 2000, none);
    std::vector<TCell> cells;
    client.getVer(cells, table, "versions", "f:v", 5, none);
    std::vector<std::pair<int64_t, string>> versions;
    for (const TCell& cell : cells) versions.emplace_back(cell.timestamp, cell.value);
    check("versions, newest first", versions, {{2000, "new"}, {1000, "old"}});
    client.deleteAllRow(table, "versions", none);
}

static void scan(HbaseClient& client, const string& table) {
    Rows expected = binary_rows();
    const Rows texts = {{"text-1", "keep 1"}, {"text-2", "drop"}, {"text-3", "keep 3"}};
    client.mutateRows(table, batches(texts), none);
    expected.insert(texts.begin(), texts.end());  // a map of strings is in the order of their bytes
    TScan all;
    all.__set_columns({"f"});
    all.__set_sortColumns(true);
    ScannerID scanner = client.scannerOpenWithScan(table, all, none);
    std::vector<TRowResult> rows;
    client.scannerGetList(rows, scanner, 100);
    std::vector<string> got, keys;
    for (const TRowResult& row : rows) got.push_back(row.row);
    for (const auto& [row, value] : expected) keys.push_back(row);
    check("rows in the order of their bytes", got, keys);
    const TColumn first = rows.at(0).sortedColumns.at(0);
    check("a sorted column", first.columnName, "f:v"s);
    check("its value", first.cell.value, expected["\0"s]);
    client.scannerGetList(rows, scanner, 100);
    check("the end of a scan", rows.empty(), true);
    client.scannerClose(scanner);
    const string invalid = "scanner ID is invalid";
    refused<IllegalArgument>("closed scanner", invalid, [&] { client.scannerGetList(rows, scanner, 1); });
    refused<IllegalArgument>("unknown scanner", invalid, [&] { client.scannerGetList(rows, 2147480000, 1); });

    TScan chosen;
    chosen.__set_filterString("PrefixFilter('text-') AND ValueFilter(=, 'substring:keep')");
    scanner = client.scannerOpenWithScan(table, chosen, none);
    client.scannerGetList(rows, scanner, 100);
    client.scannerClose(scanner);
    Rows found;
    for (const TRowResult& row : rows) found[row.row] = row.columns.at("f:v").value;
    check("rows of a filtered scan", found, Rows{{"text-1", "keep 1"}, {"text-3", "keep 3"}});
}

static void count_and_compare(HbaseClient& client, const string& table) {
    const int64_t large = int64_t{1} << 40;
    check("first increment", client.atomicIncrement(table, "count", "n:c", large), large);
    check("increment by less than nothing", client.atomicIncrement(table, "count", "n:c", -2), large - 2);
    TIncrement three;
    three.__set_table(table);
    three.__set_row("count");
    three.__set_column("n:c");
    three.__set_ammount(3);
    client.increment(three);
    check("counter as stored", get(client, table, "count", "n:c"), {"\0\0\1\0\0\0\0\1"s});

    const Mutation after = put("f:v", "after");
    check("checkAndPut of another value", client.checkAndPut(table, "text-2", "f:v", "keep", after, none), false);
    check("checkAndPut of the value", client.checkAndPut(table, "text-2", "f:v", "drop", after, none), true);
    TAppend suffix;
    suffix.__set_table(table);
    suffix.__set_row("text-2");
    suffix.__set_columns({"f:v"});
    suffix.__set_values({"\0\xff"s});
    std::vector<TCell> cells;
    client.append(cells, suffix);
    check("append", cells.at(0).value, "after\0\xff"s);
}

static void refusals_and_end(HbaseClient& client, const string& table) {
    const string package = "org.apache.hadoop.hbase.";
    std::vector<TRowResult> rows;
    const string no_family = package + "regionserver.NoSuchColumnFamilyException";
    refused<IOError>("missing table", package + "TableNotFoundException",
                     [&] { client.getRow(rows, table + "_no", "r", none); });
    refused<IOError>("missing family", no_family, [&] { get(client, table, "r", "none:v"); });
    refused<IOError>("drop while enabled", package + "TableNotDisabledException", [&] { client.deleteTable(table); });
    client.disableTable(table);
    check("enabled after disableTable", client.isTableEnabled(table), false);
    client.deleteTable(table);
    check("the dropped table is listed", listed(client, table), false);
}

int main(int, char** arguments) {
    TSSLSocketFactory factory;
    std::shared_ptr<TTransport> transport;
    if (arguments[3] == "tls"s) {
        factory.loadTrustedCertificates(std::getenv("LANGUAGES_CA"));
        factory.authenticate(true);
        transport = factory.createSocket(arguments[1], std::stoi(arguments[2]));
    } else {
        transport = std::make_shared<TSocket>(arguments[1], std::stoi(arguments[2]));
    }
    if (arguments[3] == "framed"s) transport = std::make_shared<TFramedTransport>(transport);
    else transport = std::make_shared<TBufferedTransport>(transport);
    std::shared_ptr<TProtocol> protocol;
    if (arguments[4] == "compact"s) protocol = std::make_shared<TCompactProtocol>(transport);
    else protocol = std::make_shared<TBinaryProtocol>(transport);
    HbaseClient client(protocol);
    std::ostringstream table;
    std::random_device random;
    table << "languages_cpp_" << std::hex << random() << random();
    try {
        transport->open();
        for (auto part : {make_table, write_and_read, scan, count_and_compare, refusals_and_end}) {
            part(client, table.str());
        }
        transport->close();
    } catch (const std::exception& error) {
        std::cout << "after " << checks << " checks on " << table.str() << ": " << error.what() << std::endl;
        return 1;
    }
    std::cout << "ok " << checks << std::endl;
}
