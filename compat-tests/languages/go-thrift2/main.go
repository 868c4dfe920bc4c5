// The checks of languages/README.md for Thrift2 in Go, with code generated from thrift/hbase2.thrift.
//
//	run HOST PORT buffered|framed binary|compact
//
// Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"

	hbase "hbtable/languages/gen-go/hbase2"
)

type pair struct{ row, value string }

var (
	ctx    = context.Background()
	f      = []byte("f")
	n      = []byte("n")
	q      = []byte("\x00q")
	splits = [][]byte{[]byte("b"), []byte("\x80\x00")}
	texts  = []pair{{"a1", "1"}, {"a2", "2"}, {"b1", "3"}, {"c1", "4"}}
	checks int
)

// binaryRows has 00, ff and bytes that are not UTF-8, in rows and in values.
func binaryRows() []pair {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return []pair{{"\x00", string(every)}, {"\x80\xc3\x28", "\xff\xfe\x00"}, {"\xff", ""}}
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

// refused checks that err is an E (a pointer to an exception) whose message holds message.
func refused[E interface {
	error
	GetMessage() string
}](what, message string, err error) {
	var raised E
	if !errors.As(err, &raised) {
		panic(fmt.Errorf("%s: got %v, expected %T", what, err, raised))
	}
	if !strings.Contains(raised.GetMessage(), message) {
		panic(fmt.Errorf("%s: got %q, expected %q", what, raised.GetMessage(), message))
	}
	checks++
}

func get(row string) *hbase.TGet { return &hbase.TGet{Row: []byte(row)} }

func put(row, value string) *hbase.TPut { return putAt(row, f, value, nil) }

func putAt(row string, family []byte, value string, time *int64) *hbase.TPut {
	cell := &hbase.TColumnValue{Family: family, Qualifier: q, Value: []byte(value), Timestamp: time}
	return &hbase.TPut{Row: []byte(row), ColumnValues: []*hbase.TColumnValue{cell}}
}

func rows(results []*hbase.TResult_) (found []string) {
	for _, result := range results {
		found = append(found, string(result.Row))
	}
	return found
}

func sortedRows() (all []string) {
	for _, p := range append(binaryRows(), texts...) {
		all = append(all, p.row)
	}
	sort.Strings(all)
	return all
}

func pointer[T any](value T) *T { return &value }

type client = *hbase.THBaseServiceClient

func makeTable(c client, name *hbase.TTableName, table []byte) {
	columns := []*hbase.TColumnFamilyDescriptor{{Name: f, MaxVersions: pointer(int32(5))}, {Name: n}}
	descriptor := &hbase.TTableDescriptor{TableName: name, Columns: columns}
	done(c.CreateTable(ctx, descriptor, splits))
	check("the new table is there", must(c.TableExists(ctx, name)), true)
	check("versions of f", must(c.GetTableDescriptor(ctx, name)).Columns[0].GetMaxVersions(), int32(5))
	ends := [][]byte{}
	for _, location := range must(c.GetAllRegionLocations(ctx, table)) {
		ends = append(ends, location.RegionInfo.EndKey)
	}
	check("the ends of its regions", ends, append(append([][]byte{}, splits...), []byte{}))
	refused[*hbase.TIOError]("second create", string(table), c.CreateTable(ctx, descriptor, nil))
}

func writeAndRead(c client, table []byte) {
	puts := []*hbase.TPut{}
	for _, p := range append(binaryRows(), texts...) {
		puts = append(puts, put(p.row, p.value))
	}
	done(c.PutMultiple(ctx, table, puts))
	for _, p := range binaryRows() {
		check(fmt.Sprintf("value of row %q", p.row), string(must(c.Get(ctx, table, get(p.row))).ColumnValues[0].Value), p.value)
	}
	check("a row that is not there", len(must(c.Get(ctx, table, get("none"))).Row), 0)
	a1 := get("a1")
	a1.Columns = []*hbase.TColumn{{Family: f, Qualifier: q}}
	gets := []*hbase.TGet{a1, get("none")}
	check("several gets", rows(must(c.GetMultiple(ctx, table, gets))), []string{"a1", ""})
	check("existsAll", must(c.ExistsAll(ctx, table, gets)), []bool{true, false})
	for _, time := range []int64{1000, 2000} {
		done(c.Put(ctx, table, putAt("versions", f, "v", pointer(time))))
	}
	versions := get("versions")
	versions.MaxVersions = pointer(int32(5))
	times := []int64{}
	for _, cell := range must(c.Get(ctx, table, versions)).ColumnValues {
		times = append(times, cell.GetTimestamp())
	}
	check("versions, newest first", times, []int64{2000, 1000})
	done(c.DeleteSingle(ctx, table, &hbase.TDelete{Row: []byte("versions"), DeleteType: hbase.TDeleteType_DELETE_COLUMNS}))
	check("a deleted row", must(c.Exists(ctx, table, get("versions"))), false)
}

func scan(c client, table []byte) {
	all := sortedRows()
	newScan := func() *hbase.TScan { return &hbase.TScan{MaxVersions: 1} }
	limited := newScan()
	limited.Limit = pointer(int32(5))
	scanner := must(c.OpenScanner(ctx, table, limited))
	check("two rows", rows(must(c.GetScannerRows(ctx, scanner, 2))), all[:2])
	check("up to the limit, in the next region, too", rows(must(c.GetScannerRows(ctx, scanner, 100))), all[2:5])
	check("the end of a scan", len(must(c.GetScannerRows(ctx, scanner, 100))), 0)
	done(c.CloseScanner(ctx, scanner))
	_, err := c.GetScannerRows(ctx, scanner, 1)
	refused[*hbase.TIllegalArgument]("closed scanner", "Invalid scanner Id", err)
	paged := newScan()
	paged.FilterString = []byte("PageFilter(4)")
	counted := all[:4]
	if os.Getenv("AGAINST_HBASE") != "" { // HBase's counts in each region
		counted = all
	}
	check("PageFilter over regions", rows(must(c.GetScannerResults(ctx, table, paged, 100))), counted)
	back := newScan()
	back.StartRow, back.StopRow, back.Reversed = []byte("c1"), []byte("a1"), pointer(true)
	check("backwards", rows(must(c.GetScannerResults(ctx, table, back, 100))), []string{"c1", "b1", "a2"})
	five := pointer(int64(5))
	done(c.PutMultiple(ctx, table, []*hbase.TPut{putAt("t", f, "", five), putAt("t", n, "", five)}))
	timed := newScan()
	timed.StartRow, timed.StopRow = []byte("t"), []byte("u")
	timed.ColFamTimeRangeMap = map[string]*hbase.TTimeRange{"f": {MinStamp: 0, MaxStamp: 5}}
	families := []string{}
	for _, cell := range must(c.GetScannerResults(ctx, table, timed, 10))[0].ColumnValues {
		families = append(families, string(cell.Family))
	}
	check("a time range for one family", families, []string{"n"})
}

func change(c client, table []byte) {
	add := func(amount int64) uint64 {
		columns := []*hbase.TColumnIncrement{{Family: n, Qualifier: []byte("c"), Amount: amount}}
		result := must(c.Increment(ctx, table, &hbase.TIncrement{Row: []byte("count"), Columns: columns}))
		return binary.BigEndian.Uint64(result.ColumnValues[0].Value)
	}
	check("increment", add(1<<40), uint64(1<<40))
	check("increment by less than nothing", add(-2), uint64(1<<40-2))
	suffix := []*hbase.TColumnValue{{Family: f, Qualifier: q, Value: []byte("\x00\xff")}}
	appended := must(c.Append(ctx, table, &hbase.TAppend{Row: []byte("a1"), Columns: suffix}))
	check("append", string(appended.ColumnValues[0].Value), "1\x00\xff")
	a2 := []byte("a2")
	only := func(one *hbase.TPut) *hbase.TRowMutations {
		return &hbase.TRowMutations{Row: a2, Mutations: []*hbase.TMutation{{Put: one}}}
	}
	greater := func(value string) bool {
		operator := hbase.TCompareOperator_GREATER
		return must(c.CheckAndMutate(ctx, table, a2, f, q, operator, []byte(value), only(put("a2", "9"))))
	}
	check("2 > 2", greater("2"), false)
	check("3 > 2", greater("3"), true)
	check("checkAndPut", must(c.CheckAndPut(ctx, table, a2, f, q, []byte("9"), put("a2", "10"))), true)
	done(c.MutateRow(ctx, table, only(putAt("a2", n, "n", nil))))
	values := []string{}
	for _, cell := range must(c.Get(ctx, table, get("a2"))).ColumnValues {
		values = append(values, string(cell.Value))
	}
	check("cells of a row", values, []string{"10", "n"})
}

func refusalsAndEnd(c client, name *hbase.TTableName, table []byte) {
	missing := string(table) + "_no"
	_, err := c.Get(ctx, []byte(missing), get("r"))
	refused[*hbase.TIOError]("missing table", missing, err)
	none := get("a1")
	none.Columns = []*hbase.TColumn{{Family: []byte("none")}}
	_, err = c.Get(ctx, table, none)
	refused[*hbase.TIOError]("missing family", "NoSuchColumnFamilyException", err)
	refused[*hbase.TIOError]("drop while enabled", "TableNotDisabledException", c.DeleteTable(ctx, name))
	done(c.DisableTable(ctx, name))
	check("disabled", must(c.IsTableDisabled(ctx, name)), true)
	done(c.DeleteTable(ctx, name))
	check("the dropped table is there", must(c.TableExists(ctx, name)), false)
}

func connect(host, port, transportName, protocolName string) (client, thrift.TTransport) {
	config := &thrift.TConfiguration{}
	var transport thrift.TTransport = thrift.NewTSocketConf(net.JoinHostPort(host, port), config)
	if transportName == "framed" {
		transport = thrift.NewTFramedTransportConf(transport, config)
	} else {
		transport = thrift.NewTBufferedTransport(transport, 4096)
	}
	done(transport.Open())
	if protocolName == "compact" {
		return hbase.NewTHBaseServiceClientFactory(transport, thrift.NewTCompactProtocolFactoryConf(config)), transport
	}
	return hbase.NewTHBaseServiceClientFactory(transport, thrift.NewTBinaryProtocolFactoryConf(config)), transport
}

func main() {
	suffix := make([]byte, 6)
	must(rand.Read(suffix))
	table := []byte(fmt.Sprintf("languages_go2_%x", suffix))
	name := &hbase.TTableName{Qualifier: table}
	defer func() {
		if wrong := recover(); wrong != nil {
			fmt.Printf("after %d checks on %s: %v\n", checks, table, wrong)
			os.Exit(1)
		}
		fmt.Printf("ok %d\n", checks)
	}()
	c, transport := connect(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	defer transport.Close()
	makeTable(c, name, table)
	writeAndRead(c, table)
	scan(c, table)
	change(c, table)
	refusalsAndEnd(c, name, table)
}
