<?php
/*
 * The checks of languages/README.md in PHP: Apache Thrift's library, code generated from thrift/hbase.thrift.
 *
 *     program.php HOST PORT buffered|framed|tls|https binary|compact
 *
 * With https it logs in by Basic, as LANGUAGES_USER with LANGUAGES_SECRET; tls and https trust the CA of LANGUAGES_CA.
 * Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
 */

declare(strict_types=1);

// Debian puts the library's folders beside each other in /usr/lib/php, without one named Thrift around them.
spl_autoload_register(function (string $class): void {
    $path = str_replace('\\', '/', $class) . '.php';
    foreach ([__DIR__ . "/$path", '/usr/lib/php/' . preg_replace('#^Thrift/#', '', $path)] as $file) {
        if (is_file($file)) {
            require_once $file;
            return;
        }
    }
});

use Hbase\AlreadyExists;
use Hbase\BatchMutation;
use Hbase\ColumnDescriptor;
use Hbase\HbaseClient;
use Hbase\IllegalArgument;
use Hbase\IOError;
use Hbase\Mutation;
use Hbase\TAppend;
use Hbase\TIncrement;
use Hbase\TScan;
use Thrift\Protocol\TBinaryProtocol;
use Thrift\Protocol\TCompactProtocol;
use Thrift\Transport\TBufferedTransport;
use Thrift\Transport\TFramedTransport;
use Thrift\Transport\THttpClient;
use Thrift\Transport\TSocket;

const HBASE = 'org.apache.hadoop.hbase.';

/** A program's run: the client, a table of its own, and how many checks have passed. */
final class Checks
{
    public int $count = 0;
    /** Rows and their values. Pairs, because PHP makes numbers of keys of arrays that look like some. */
    private array $binary;

    public function __construct(private HbaseClient $client, private string $table)
    {
        $this->binary = [
            ["\x00", implode('', array_map('chr', range(0, 255)))],
            ["\x00\xff", ''],
            ["\x80\xc3\x28", "\xff\xfe\x00"], // not UTF-8, in the key and in the value
            ["\xff", "\xc3\x28"],
        ];
    }

    public function all(): void
    {
        $this->makeTable();
        $this->writeAndRead();
        $this->scan();
        $this->countAndCompare();
        $this->refusalsAndEnd();
    }

    private function check(string $what, mixed $got, mixed $expected): void
    {
        $this->count++;
        if ($got !== $expected) {
            throw new LogicException("$what: got " . var_export($got, true) . ', expected ' . var_export($expected, true));
        }
    }

    /** The call raises `$error`, whose message begins with `$message`. */
    private function refused(string $what, string $error, string $message, callable $call): void
    {
        try {
            $answer = $call();
        } catch (Exception $raised) {
            if (!$raised instanceof $error) {
                throw $raised;
            }
            $said = (string) $raised->message; // getMessage() is empty: the field of the interface hides it
            $this->check($what, substr($said, 0, strlen($message)), $message);
            return;
        }
        throw new LogicException("$what: got " . var_export($answer, true) . ", expected $error");
    }

    private function put(string $column, string $value): Mutation
    {
        return new Mutation(['column' => $column, 'value' => $value]);
    }

    /** @param array<array{string, string}> $values rows and values */
    private function putRows(array $values): void
    {
        $batches = array_map(
            fn (array $pair) => new BatchMutation(['row' => $pair[0], 'mutations' => [$this->put('f:v', $pair[1])]]),
            $values
        );
        $this->client->mutateRows($this->table, $batches, []);
    }

    private function makeTable(): void
    {
        $families = [new ColumnDescriptor(['name' => 'f', 'maxVersions' => 5]), new ColumnDescriptor(['name' => 'n:'])];
        $this->client->createTable($this->table, $families);
        $this->check('the new table is listed', in_array($this->table, $this->client->getTableNames(), true), true);
        $families = $this->client->getColumnDescriptors($this->table);
        ksort($families);
        $this->check('families', array_keys($families), ['f:', 'n:']);
        $this->check('versions of f', $families['f:']->maxVersions, 5);
        $again = fn () => $this->client->createTable($this->table, [new ColumnDescriptor(['name' => 'f'])]);
        $this->refused('second create', AlreadyExists::class, 'table name already in use', $again);
    }

    private function writeAndRead(): void
    {
        $this->putRows($this->binary);
        foreach ($this->binary as [$row, $value]) {
            $got = $this->client->get($this->table, $row, 'f:v', [])[0]->value;
            $this->check('value of row ' . bin2hex($row), $got, $value);
        }
        $result = $this->client->getRow($this->table, "\xff", [])[0];
        $this->check('row of getRow', $result->row, "\xff");
        $columns = array_map(fn ($cell) => $cell->value, $result->columns);
        $this->check('columns of getRow', $columns, ['f:v' => "\xc3\x28"]);
        $this->check('a row that is not there', $this->client->getRow($this->table, "\xff\xff", []), []);

        $column = "f:\x00\xff:\x80";
        $this->client->mutateRow($this->table, "\x00", [$this->put($column, 'by name')], []);
        $got = $this->client->get($this->table, "\x00", $column, [])[0]->value;
        $this->check('a column with a binary name', $got, 'by name');
        $delete = new Mutation(['isDelete' => true, 'column' => $column]);
        $this->client->mutateRow($this->table, "\x00", [$delete], []);
        $this->check('the column after its delete', $this->client->get($this->table, "\x00", $column, []), []);

        foreach ([[1000, 'old'], [2000, 'new']] as [$timestamp, $value]) {
            $this->client->mutateRowTs($this->table, 'versions', [$this->put('f:v', $value)], $timestamp, []);
        }
        $cells = $this->client->getVer($this->table, 'versions', 'f:v', 5, []);
        $versions = array_map(fn ($cell) => [$cell->timestamp, $cell->value], $cells);
        $this->check('versions, newest first', $versions, [[2000, 'new'], [1000, 'old']]);
        $this->client->deleteAllRow($this->table, 'versions', []);
    }

    private function scan(): void
    {
        $texts = [['text-1', 'keep 1'], ['text-2', 'drop'], ['text-3', 'keep 3']];
        $this->putRows($texts);
        $whole = new TScan(['columns' => ['f'], 'sortColumns' => true]);
        $scanner = $this->client->scannerOpenWithScan($this->table, $whole, []);
        $rows = $this->client->scannerGetList($scanner, 100);
        $expected = array_column([...$this->binary, ...$texts], 0);
        sort($expected, SORT_STRING);
        $this->check('rows in the order of their bytes', array_map(fn ($row) => $row->row, $rows), $expected);
        $this->check('a sorted column', $rows[0]->sortedColumns[0]->columnName, 'f:v');
        $this->check('its value', $rows[0]->sortedColumns[0]->cell->value, $this->binary[0][1]);
        $this->check('the end of a scan', $this->client->scannerGetList($scanner, 100), []);
        $this->client->scannerClose($scanner);
        foreach (['closed' => $scanner, 'unknown' => 2147480000] as $kind => $id) {
            $call = fn () => $this->client->scannerGetList($id, 1);
            $this->refused("$kind scanner", IllegalArgument::class, 'scanner ID is invalid', $call);
        }

        $chosen = new TScan(['filterString' => "PrefixFilter('text-') AND ValueFilter(=, 'substring:keep')"]);
        $scanner = $this->client->scannerOpenWithScan($this->table, $chosen, []);
        $rows = $this->client->scannerGetList($scanner, 100);
        $this->client->scannerClose($scanner);
        $found = array_map(fn ($row) => [$row->row, $row->columns['f:v']->value], $rows);
        $this->check('rows of a filtered scan', $found, [$texts[0], $texts[2]]);
    }

    private function countAndCompare(): void
    {
        $increment = fn (int $by) => $this->client->atomicIncrement($this->table, 'count', 'n:c', $by);
        $this->check('first increment', $increment(1 << 40), 1 << 40);
        $this->check('increment by less than nothing', $increment(-2), (1 << 40) - 2);
        $three = ['table' => $this->table, 'row' => 'count', 'column' => 'n:c', 'ammount' => 3];
        $this->client->increment(new TIncrement($three));
        $stored = $this->client->get($this->table, 'count', 'n:c', [])[0]->value;
        $this->check('counter as stored', $stored, pack('J', (1 << 40) + 1));
        $after = $this->put('f:v', 'after');
        foreach (['keep' => false, 'drop' => true] as $value => $expected) {
            $put = $this->client->checkAndPut($this->table, 'text-2', 'f:v', $value, $after, []);
            $this->check("checkAndPut where $value was expected", $put, $expected);
        }
        $append = ['table' => $this->table, 'row' => 'text-2', 'columns' => ['f:v'], 'values' => ["\x00\xff"]];
        $cells = $this->client->append(new TAppend($append));
        $this->check('append', array_map(fn ($cell) => $cell->value, $cells), ["after\x00\xff"]);
    }

    private function refusalsAndEnd(): void
    {
        $missing = fn () => $this->client->getRow($this->table . '_no', 'r', []);
        $this->refused('missing table', IOError::class, HBASE . 'TableNotFoundException', $missing);
        $family = fn () => $this->client->get($this->table, 'r', 'none:v', []);
        $this->refused('missing family', IOError::class, HBASE . 'regionserver.NoSuchColumnFamilyException', $family);
        $drop = fn () => $this->client->deleteTable($this->table);
        $this->refused('drop while enabled', IOError::class, HBASE . 'TableNotDisabledException', $drop);
        $this->client->disableTable($this->table);
        $this->check('enabled after disableTable', $this->client->isTableEnabled($this->table), false);
        $this->client->deleteTable($this->table);
        $this->check('the dropped table is listed', in_array($this->table, $this->client->getTableNames(), true), false);
    }
}

function socket(string $host, int $port): TSocket
{
    $socket = new TSocket($host, $port);
    $socket->setSendTimeout(10000); // its own are 0.1 and 0.75 s
    $socket->setRecvTimeout(10000);
    return $socket;
}

/** Its own open() sets an option of the socket that PHP does not give for TLS, and ends in a TypeError. */
function safeSocket(string $host, int $port): TSocket
{
    $socket = socket($host, $port);
    $context = stream_context_create(['ssl' => ['cafile' => getenv('LANGUAGES_CA')]]);
    $socket->setHandle(stream_socket_client("tls://$host:$port", $code, $said, 10, STREAM_CLIENT_CONNECT, $context));
    return $socket;
}

function posts(string $host, int $port): THttpClient
{
    $context = ['ssl' => ['cafile' => getenv('LANGUAGES_CA')]];
    $posts = new THttpClient($host, $port, '/', 'https', $context);
    $pair = getenv('LANGUAGES_USER') . ':' . getenv('LANGUAGES_SECRET');
    $posts->addHeaders(['Authorization' => 'Basic ' . base64_encode($pair)]);
    return $posts;
}

[, $host, $port, $transportName, $protocolName] = $argv;
$transport = match ($transportName) {
    'framed' => new TFramedTransport(socket($host, (int) $port)),
    'tls' => new TBufferedTransport(safeSocket($host, (int) $port)),
    'https' => posts($host, (int) $port),
    default => new TBufferedTransport(socket($host, (int) $port)),
};
$protocol = $protocolName === 'compact' ? new TCompactProtocol($transport) : new TBinaryProtocol($transport);
$table = 'languages_php_' . bin2hex(random_bytes(6));
$checks = new Checks(new HbaseClient($protocol), $table);
if (!$transport->isOpen()) {
    $transport->open();
}
try {
    $checks->all();
} catch (Exception $error) {
    $said = $error->getMessage() ?: ($error->message ?? '');
    echo "after $checks->count checks on $table: ", get_class($error), ": $said\n";
    exit(1);
} finally {
    $transport->close();
}
echo "ok $checks->count\n";
