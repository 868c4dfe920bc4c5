import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Map.entry;
import static java.util.stream.Collectors.joining;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.sasl.Sasl;
import org.apache.hadoop.hbase.thrift.generated.*;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.transport.THttpClient;
import org.apache.thrift.transport.TSaslClientTransport;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * The checks of languages/README.md in Java, with code generated from thrift/hbase.thrift.
 *
 * <pre>run HOST PORT buffered|framed|sasl|kerberos|tls|https binary|compact</pre>
 *
 * With sasl it logs in by PLAIN, with https by Basic, as LANGUAGES_USER with LANGUAGES_SECRET; with kerberos by GSSAPI
 * and the ticket of kinit, in SASL's layer LANGUAGES_QOP; tls and https take the CA of LANGUAGES_CA.
 *
 * Prints {@code ok <number of checks>} and ends with 0, or says what was wrong and ends with 1. Bytes are written as
 * strings of the characters 0 to 255 here and compared as such. TSocket is buffered by itself.
 */
public final class Program {
    private static final Map<ByteBuffer, ByteBuffer> NONE = Map.of();
    private static final Map<String, String> BINARY =
            new TreeMap<>(
                    Map.of(
                            "\u0000", IntStream.range(0, 256).mapToObj(Character::toString).collect(joining()),
                            "\u0000\u00ff", "",
                            "\u0080\u00c3\u0028", "\u00ff\u00fe\u0000", // not UTF-8, in the row and in the value
                            "\u00ff", "\u00c3\u0028"));

    private final Hbase.Client client;
    private final String name;
    private final ByteBuffer table;
    private int checks;

    private Program(Hbase.Client client, String name) {
        this.client = client;
        this.name = name;
        this.table = bytes(name);
    }

    private interface Command {
        void run() throws TException;
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(ISO_8859_1));
    }

    private static String text(ByteBuffer bytes) {
        return ISO_8859_1.decode(bytes.duplicate()).toString();
    }

    private static String text(byte[] bytes) {
        return new String(bytes, ISO_8859_1);
    }

    private static List<String> values(List<TCell> cells) {
        return cells.stream().map(cell -> text(cell.getValue())).collect(Collectors.toList());
    }

    private static List<Mutation> put(String column, String value) {
        return List.of(new Mutation(false, bytes(column), bytes(value), true));
    }

    private static List<BatchMutation> batches(Map<String, String> rows) {
        List<BatchMutation> all = new ArrayList<>();
        rows.forEach((row, value) -> all.add(new BatchMutation(bytes(row), put("f:v", value))));
        return all;
    }

    private void check(String what, Object got, Object expected) {
        checks++;
        if (!Objects.equals(got, expected)) {
            throw new AssertionError(what + ": got " + got + ", expected " + expected);
        }
    }

    /** The call ends with exactly this exception, whose message begins so. */
    private void refused(String what, Class<? extends TException> error, String message, Command call)
            throws TException {
        try {
            call.run();
        } catch (TException raised) {
            if (!error.isInstance(raised)) {
                throw raised;
            }
            String got = raised.getMessage();
            check(what, got.substring(0, Math.min(message.length(), got.length())), message);
            return;
        }
        throw new AssertionError(what + ": got an answer, expected " + error.getSimpleName());
    }

    private List<String> get(String row, String column) throws TException {
        return values(client.get(table, bytes(row), bytes(column), NONE));
    }

    private void makeTable() throws TException {
        ColumnDescriptor f = new ColumnDescriptor().setName(bytes("f")).setMaxVersions(5);
        client.createTable(table, List.of(f, new ColumnDescriptor().setName(bytes("n:"))));
        check("the new table is listed", client.getTableNames().contains(table), true);
        Map<ByteBuffer, ColumnDescriptor> families = client.getColumnDescriptors(table);
        check("families", new TreeSet<>(families.keySet()), new TreeSet<>(List.of(bytes("f:"), bytes("n:"))));
        check("versions of f", families.get(bytes("f:")).getMaxVersions(), 5);
        refused("second create", AlreadyExists.class, "table name already in use",
                () -> client.createTable(table, List.of(f)));
    }

    private void writeAndRead() throws TException {
        client.mutateRows(table, batches(BINARY), NONE);
        for (String row : BINARY.keySet()) {
            check("value of row " + row, get(row, "f:v"), List.of(BINARY.get(row)));
        }
        TRowResult result = client.getRow(table, bytes("\u00ff"), NONE).get(0);
        check("row of getRow", text(result.getRow()), "\u00ff");
        Map<String, String> columns = new TreeMap<>();
        result.getColumns().forEach((column, cell) -> columns.put(text(column), text(cell.getValue())));
        check("columns of getRow", columns, Map.of("f:v", "\u00c3\u0028"));
        check("a row that is not there", client.getRow(table, bytes("\u00ff\u00ff"), NONE), List.of());

        String column = "f:\u0000\u00ff:\u0080";
        client.mutateRow(table, bytes("\u0000"), put(column, "by name"), NONE);
        check("a column with a binary name", get("\u0000", column), List.of("by name"));
        Mutation delete = new Mutation().setIsDelete(true).setColumn(bytes(column));
        client.mutateRow(table, bytes("\u0000"), List.of(delete), NONE);
        check("the column after its delete", get("\u0000", column), List.of());

        client.mutateRowTs(table, bytes("versions"), put("f:v", "old"), 1000, NONE);
        client.mutateRowTs(table, bytes("versions"), put("f:v", "new"), 2000, NONE);
        List<TCell> versions = client.getVer(table, bytes("versions"), bytes("f:v"), 5, NONE);
        check("versions, newest first", versions,
                List.of(new TCell(bytes("new"), 2000), new TCell(bytes("old"), 1000)));
        client.deleteAllRow(table, bytes("versions"), NONE);
    }

    private void scan() throws TException {
        Map<String, String> texts = new TreeMap<>(Map.of("text-1", "keep 1", "text-2", "drop", "text-3", "keep 3"));
        client.mutateRows(table, batches(texts), NONE);
        TScan all = new TScan().setColumns(List.of(bytes("f"))).setSortColumns(true);
        int scanner = client.scannerOpenWithScan(table, all, NONE);
        List<TRowResult> rows = client.scannerGetList(scanner, 100);
        TreeSet<String> expected = new TreeSet<>(BINARY.keySet());
        expected.addAll(texts.keySet());
        List<String> got = rows.stream().map(row -> text(row.getRow())).collect(Collectors.toList());
        check("rows in the order of their bytes", got, new ArrayList<>(expected));
        TColumn first = rows.get(0).getSortedColumns().get(0);
        check("a sorted column", text(first.getColumnName()), "f:v");
        check("its value", text(first.getCell().getValue()), BINARY.get("\u0000"));
        check("the end of a scan", client.scannerGetList(scanner, 100), List.of());
        client.scannerClose(scanner);
        String invalid = "scanner ID is invalid";
        refused("closed scanner", IllegalArgument.class, invalid, () -> client.scannerGetList(scanner, 1));
        refused("unknown scanner", IllegalArgument.class, invalid, () -> client.scannerGetList(2147480000, 1));

        String chosen = "PrefixFilter('text-') AND ValueFilter(=, 'substring:keep')";
        int filtered = client.scannerOpenWithScan(table, new TScan().setFilterString(bytes(chosen)), NONE);
        List<Map.Entry<String, String>> found = new ArrayList<>();
        for (TRowResult row : client.scannerGetList(filtered, 100)) {
            found.add(entry(text(row.getRow()), text(row.getColumns().get(bytes("f:v")).getValue())));
        }
        client.scannerClose(filtered);
        check("rows of a filtered scan", found, List.of(entry("text-1", "keep 1"), entry("text-3", "keep 3")));
    }

    private void countAndCompare() throws TException {
        ByteBuffer row = bytes("count");
        ByteBuffer column = bytes("n:c");
        check("first increment", client.atomicIncrement(table, row, column, 1L << 40), 1L << 40);
        check("increment by less than nothing", client.atomicIncrement(table, row, column, -2), (1L << 40) - 2);
        client.increment(new TIncrement(table, row, column, 3));
        byte[] stored = client.get(table, row, column, NONE).get(0).getValue();
        check("counter as stored", ByteBuffer.wrap(stored), ByteBuffer.allocate(8).putLong(0, (1L << 40) + 1));

        Mutation after = put("f:v", "after").get(0);
        ByteBuffer second = bytes("text-2");
        ByteBuffer value = bytes("f:v");
        boolean swapped = client.checkAndPut(table, second, value, bytes("keep"), after, NONE);
        check("checkAndPut of another value", swapped, false);
        check("checkAndPut of the value", client.checkAndPut(table, second, value, bytes("drop"), after, NONE), true);
        TAppend suffix = new TAppend(table, second, List.of(value), List.of(bytes("\u0000\u00ff")));
        check("append", values(client.append(suffix)), List.of("after\u0000\u00ff"));
    }

    private void refusalsAndEnd() throws TException {
        String inPackage = "org.apache.hadoop.hbase.";
        refused("missing table", IOError.class, inPackage + "TableNotFoundException",
                () -> client.getRow(bytes(name + "_no"), bytes("r"), NONE));
        refused("missing family", IOError.class, inPackage + "regionserver.NoSuchColumnFamilyException",
                () -> client.get(table, bytes("r"), bytes("none:v"), NONE));
        refused("drop while enabled", IOError.class, inPackage + "TableNotDisabledException",
                () -> client.deleteTable(table));
        client.disableTable(table);
        check("enabled after disableTable", client.isTableEnabled(table), false);
        client.deleteTable(table);
        check("the dropped table is listed", client.getTableNames().contains(table), false);
    }

    private void everything() throws TException {
        makeTable();
        writeAndRead();
        scan();
        countAndCompare();
        refusalsAndEnd();
    }

    private static void sayWho(Callback[] asked) {
        for (Callback one : asked) {
            if (one instanceof NameCallback) {
                ((NameCallback) one).setName(System.getenv("LANGUAGES_USER"));
            } else if (one instanceof PasswordCallback) {
                ((PasswordCallback) one).setPassword(System.getenv("LANGUAGES_SECRET").toCharArray());
            }
        }
    }

    private static SSLContext trusted() throws GeneralSecurityException, IOException {
        KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
        authorities.load(null);
        try (InputStream file = new FileInputStream(System.getenv("LANGUAGES_CA"))) {
            authorities.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(authorities);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        return context;
    }

    private static TTransport opening(String name, String host, int port)
            throws TException, GeneralSecurityException, IOException {
        if (name.equals("tls")) {
            return new TSocket(trusted().getSocketFactory().createSocket(host, port));
        }
        if (name.equals("https")) {
            HttpsURLConnection.setDefaultSSLSocketFactory(trusted().getSocketFactory());
            THttpClient posts = new THttpClient("https://" + host + ":" + port + "/");
            String pair = System.getenv("LANGUAGES_USER") + ":" + System.getenv("LANGUAGES_SECRET");
            String said = Base64.getEncoder().encodeToString(pair.getBytes(ISO_8859_1));
            posts.setCustomHeader("Authorization", "Basic " + said);
            return posts;
        }
        return new TSocket(host, port);
    }

    public static void main(String[] arguments) throws TException, GeneralSecurityException, IOException {
        TTransport socket = opening(arguments[2], arguments[0], Integer.parseInt(arguments[1]));
        TTransport transport = socket;
        if (arguments[2].equals("framed")) {
            transport = new TFramedTransport(socket);
        } else if (arguments[2].equals("sasl")) {
            transport = new TSaslClientTransport(
                    "PLAIN", null, "hbase", arguments[0], Map.of(), Program::sayWho, socket);
        } else if (arguments[2].equals("kerberos")) {
            Map<String, String> properties = Map.of(Sasl.QOP, System.getenv("LANGUAGES_QOP"));
            transport = new TSaslClientTransport("GSSAPI", null, "hbase", arguments[0], properties, null, socket);
        }
        boolean compact = arguments[3].equals("compact");
        String name = "languages_java_" + UUID.randomUUID().toString().substring(24);
        Program program = new Program(
                new Hbase.Client(compact ? new TCompactProtocol(transport) : new TBinaryProtocol(transport)), name);
        try (TTransport opened = transport) {
            if (!opened.isOpen()) {
                opened.open();
            }
            program.everything();
            System.out.println("ok " + program.checks);
        } catch (TException | AssertionError wrong) {
            System.out.println("after " + program.checks + " checks on " + name + ": " + wrong);
            System.exit(1);
        }
    }
}
