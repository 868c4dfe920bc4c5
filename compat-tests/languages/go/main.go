// The checks of languages/README.md in Go, with code generated from thrift/hbase.thrift.
//
//	run HOST PORT buffered|framed|tls|https binary|compact
//
// Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
// Rows, columns and values are strings here (languages/go/build says why): Go's strings hold any bytes.
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"

	"hbtable/languages/gen-go/hbase"
)

var (
	ctx    = context.Background()
	none   = map[hbase.Text]hbase.Text{}
	checks int
)

type pair struct {
	row   hbase.Text
	value hbase.Bytes
}

// binaryRows has 00, ff and bytes that are not UTF-8, in rows and in values.
func binaryRows() []pair {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return []pair{{"\x00", hbase.Bytes(every)}, {"\x00\xff", ""}, {"\x80\xc3\x28", "\xff\xfe\x00"}, {"\xff", "\xc3\x28"}}
}

func check(what string, got, expected any) {
	checks++
	if !reflect.DeepEqual(got, expected) {
		panic(fmt.Errorf("%s: got %#v, expected %#v", what, got, expected))
	}
}

// must is for calls that have to answer: an error ends the program.
func must[T any](answer T, err error) T {
	done(err)
	return answer
}

func done(err error) {
	if err != nil {
		panic(err)
	}
}

// refused checks that err is an E (a pointer to an exception) whose message begins with message.
func refused[E interface {
	error
	GetMessage() string
}](what, message string, err error) {
	var raised E
	if !errors.As(err, &raised) {
		panic(fmt.Errorf("%s: got %v, expected %T", what, err, raised))
	}
	if !strings.HasPrefix(raised.GetMessage(), message) {
		panic(fmt.Errorf("%s: got %q, expected %q", what, raised.GetMessage(), message))
	}
	checks++
}

func put[T ~string](column hbase.Text, value T) *hbase.Mutation {
	return &hbase.Mutation{Column: column, Value: hbase.Text(value), WriteToWAL: true}
}

func batches(pairs []pair) (all []*hbase.BatchMutation) {
	for _, p := range pairs {
		all = append(all, &hbase.BatchMutation{Row: p.row, Mutations: []*hbase.Mutation{put("f:v", p.value)}})
	}
	return all
}

func values(cells []*hbase.TCell) (all []hbase.Bytes) {
	for _, cell := range cells {
		all = append(all, cell.Value)
	}
	return all
}

func family(name hbase.Text, versions int32) *hbase.ColumnDescriptor {
	descriptor := hbase.NewColumnDescriptor() // with the interface's defaults
	descriptor.Name, descriptor.MaxVersions = name, versions
	return descriptor
}

func listed(client *hbase.HbaseClient, table hbase.Text) bool {
	for _, name := range must(client.GetTableNames(ctx)) {
		if name == table {
			return true
		}
	}
	return false
}

func makeTable(client *hbase.HbaseClient, table hbase.Text) {
	families := []*hbase.ColumnDescriptor{family("f", 5), family("n:", 3)}
	done(client.CreateTable(ctx, table, families))
	check("the new table is listed", listed(client, table), true)
	found := must(client.GetColumnDescriptors(ctx, table))
	check("families", len(found) == 2 && found["f:"] != nil && found["n:"] != nil, true)
	check("versions of f", found["f:"].MaxVersions, int32(5))
	err := client.CreateTable(ctx, table, families)
	refused[*hbase.AlreadyExists]("second create", "table name already in use", err)
}

func writeAndRead(client *hbase.HbaseClient, table hbase.Text) {
	done(client.MutateRows(ctx, table, batches(binaryRows()), none))
	for _, p := range binaryRows() {
		cells := must(client.Get(ctx, table, p.row, "f:v", none))
		check(fmt.Sprintf("value of row %q", p.row), values(cells), []hbase.Bytes{p.value})
	}
	results := must(client.GetRow(ctx, table, "\xff", none))
	check("row of getRow", results[0].Row, hbase.Text("\xff"))
	columns := map[hbase.Text]hbase.Bytes{}
	for name, cell := range results[0].Columns {
		columns[name] = cell.Value
	}
	check("columns of getRow", columns, map[hbase.Text]hbase.Bytes{"f:v": "\xc3\x28"})
	check("a row that is not there", len(must(client.GetRow(ctx, table, "\xff\xff", none))), 0)

	const row, column = hbase.Text("\x00"), hbase.Text("f:\x00\xff:\x80")
	done(client.MutateRow(ctx, table, row, []*hbase.Mutation{put(column, "by name")}, none))
	cells := must(client.Get(ctx, table, row, column, none))
	check("a column with a binary name", values(cells), []hbase.Bytes{"by name"})
	done(client.MutateRow(ctx, table, row, []*hbase.Mutation{{IsDelete: true, Column: column, WriteToWAL: true}}, none))
	check("the column after its delete", len(must(client.Get(ctx, table, row, column, none))), 0)

	done(client.MutateRowTs(ctx, table, "versions", []*hbase.Mutation{put("f:v", "old")}, 1000, none))
	done(client.MutateRowTs(ctx, table, "versions", []*hbase.Mutation{put("f:v", "new")}, 2000, none))
	var versions []hbase.TCell
	for _, cell := range must(client.GetVer(ctx, table, "versions", "f:v", 5, none)) {
		versions = append(versions, *cell)
	}
	expected := []hbase.TCell{{Value: "new", Timestamp: 2000}, {Value: "old", Timestamp: 1000}}
	check("versions, newest first", versions, expected)
	done(client.DeleteAllRow(ctx, table, "versions", none))
}

func scan(client *hbase.HbaseClient, table hbase.Text) {
	texts := []pair{{"text-1", "keep 1"}, {"text-2", "drop"}, {"text-3", "keep 3"}}
	done(client.MutateRows(ctx, table, batches(texts), none))
	sorted := true
	request := &hbase.TScan{Columns: []hbase.Text{"f"}, SortColumns: &sorted}
	scanner := must(client.ScannerOpenWithScan(ctx, table, request, none))
	rows := must(client.ScannerGetList(ctx, scanner, 100))
	var got, expected []string
	for _, row := range rows {
		got = append(got, string(row.Row))
	}
	for _, p := range append(binaryRows(), texts...) {
		expected = append(expected, string(p.row))
	}
	sort.Strings(expected)
	check("rows in the order of their bytes", got, expected)
	check("a sorted column", rows[0].SortedColumns[0].ColumnName, hbase.Text("f:v"))
	check("its value", rows[0].SortedColumns[0].Cell.Value, binaryRows()[0].value)
	check("the end of a scan", len(must(client.ScannerGetList(ctx, scanner, 100))), 0)
	done(client.ScannerClose(ctx, scanner))
	_, err := client.ScannerGetList(ctx, scanner, 1)
	refused[*hbase.IllegalArgument]("closed scanner", "scanner ID is invalid", err)
	_, err = client.ScannerGetList(ctx, 2147480000, 1)
	refused[*hbase.IllegalArgument]("unknown scanner", "scanner ID is invalid", err)

	chosen := hbase.Text("PrefixFilter('text-') AND ValueFilter(=, 'substring:keep')")
	scanner = must(client.ScannerOpenWithScan(ctx, table, &hbase.TScan{FilterString: &chosen}, none))
	var found []pair
	for _, row := range must(client.ScannerGetList(ctx, scanner, 100)) {
		found = append(found, pair{row.Row, row.Columns["f:v"].Value})
	}
	done(client.ScannerClose(ctx, scanner))
	check("rows of a filtered scan", found, []pair{texts[0], texts[2]})
}

func countAndCompare(client *hbase.HbaseClient, table hbase.Text) {
	const row, column = hbase.Text("count"), hbase.Text("n:c")
	check("first increment", must(client.AtomicIncrement(ctx, table, row, column, 1<<40)), int64(1<<40))
	check("increment by less than nothing", must(client.AtomicIncrement(ctx, table, row, column, -2)), int64(1<<40-2))
	done(client.Increment(ctx, &hbase.TIncrement{Table: table, Row: row, Column: column, Ammount: 3}))
	stored := must(client.Get(ctx, table, row, column, none))[0].Value
	check("counter as stored", binary.BigEndian.Uint64([]byte(stored)), uint64(1<<40+1))

	swap := func(expected hbase.Text) bool {
		return must(client.CheckAndPut(ctx, table, "text-2", "f:v", expected, put("f:v", "after"), none))
	}
	check("checkAndPut of another value", swap("keep"), false)
	check("checkAndPut of the value", swap("drop"), true)
	suffix := &hbase.TAppend{Table: table, Row: "text-2", Columns: []hbase.Text{"f:v"}, Values: []hbase.Text{"\x00\xff"}}
	check("append", values(must(client.Append(ctx, suffix))), []hbase.Bytes{"after\x00\xff"})
}

func refusalsAndEnd(client *hbase.HbaseClient, table hbase.Text) {
	const inPackage = "org.apache.hadoop.hbase."
	_, err := client.GetRow(ctx, table+"_no", "r", none)
	refused[*hbase.IOError]("missing table", inPackage+"TableNotFoundException", err)
	_, err = client.Get(ctx, table, "r", "none:v", none)
	refused[*hbase.IOError]("missing family", inPackage+"regionserver.NoSuchColumnFamilyException", err)
	refused[*hbase.IOError]("drop while enabled", inPackage+"TableNotDisabledException", client.DeleteTable(ctx, table))
	done(client.DisableTable(ctx, hbase.Bytes(table)))
	check("enabled after disableTable", must(client.IsTableEnabled(ctx, hbase.Bytes(table))), false)
	done(client.DeleteTable(ctx, table))
	check("the dropped table is listed", listed(client, table), false)
}

// trusted are the CAs of LANGUAGES_CA.
func trusted() *tls.Config {
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("LANGUAGES_CA")))) {
		panic("LANGUAGES_CA has no certificate")
	}
	return &tls.Config{RootCAs: authorities}
}

func connect(host, port, transportName, protocolName string) (*hbase.HbaseClient, thrift.TTransport) {
	config := &thrift.TConfiguration{}
	address := net.JoinHostPort(host, port)
	var transport thrift.TTransport
	if transportName == "tls" {
		config.TLSConfig = trusted()
		transport = thrift.NewTSSLSocketConf(address, config)
	} else if transportName == "https" {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted()}}
		posts := must(thrift.NewTHttpClientWithOptions("https://"+address+"/", thrift.THttpClientOptions{Client: client}))
		pair := os.Getenv("LANGUAGES_USER") + ":" + os.Getenv("LANGUAGES_SECRET")
		posts.(*thrift.THttpClient).SetHeader("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
		transport = posts
	} else {
		transport = thrift.NewTSocketConf(address, config)
	}
	if transportName == "framed" {
		transport = thrift.NewTFramedTransportConf(transport, config)
	} else if transportName != "https" {
		transport = thrift.NewTBufferedTransport(transport, 4096)
	}
	done(transport.Open())
	if protocolName == "compact" {
		return hbase.NewHbaseClientFactory(transport, thrift.NewTCompactProtocolFactoryConf(config)), transport
	}
	return hbase.NewHbaseClientFactory(transport, thrift.NewTBinaryProtocolFactoryConf(config)), transport
}

func main() {
	suffix := make([]byte, 6)
	must(rand.Read(suffix))
	table := hbase.Text(fmt.Sprintf("languages_go_%x", suffix))
	defer func() {
		if wrong := recover(); wrong != nil {
			fmt.Printf("after %d checks on %s: %v\n", checks, table, wrong)
			os.Exit(1)
		}
		fmt.Printf("ok %d\n", checks)
	}()
	client, transport := connect(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	defer transport.Close()
	makeTable(client, table)
	writeAndRead(client, table)
	scan(client, table)
	countAndCompare(client, table)
	refusalsAndEnd(client, table)
}
