import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.sasl.Sasl;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.PageFilter;
import org.apache.hadoop.hbase.filter.PrefixFilter;
import org.apache.hadoop.hbase.thrift2.client.ThriftClientBuilder;
import org.apache.hadoop.hbase.thrift2.client.ThriftConnection;
import org.apache.hadoop.hbase.thrift2.generated.THBaseService;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.THttpClient;
import org.apache.thrift.transport.TSaslClientTransport;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;

/**
 * HBase's own client over Thrift2, ThriftConnection, ThriftAdmin and ThriftTable of hbase-thrift 2.6.1.
 *
 * <pre>run HOST PORT buffered|framed|sasl|kerberos|tls|https binary|compact</pre>
 *
 * With sasl it logs in by PLAIN, with https by Basic, as LANGUAGES_USER with LANGUAGES_SECRET; with kerberos by GSSAPI
 * and the ticket of kinit, in SASL's layer LANGUAGES_QOP; tls and https take the CA of LANGUAGES_CA.
 *
 * Prints {@code ok <number of checks>} and ends with 0, or says what was wrong and ends with 1. Bytes are written as
 * strings of the characters 0 to 255 and compared as such.
 */
public final class Program {
    private static final byte[] F = bytes("f");
    private static final byte[] N = bytes("n");
    private static final byte[] Q = bytes("\u0000\u00ff:");

    private final Connection connection;
    private final TableName name;
    private int checks;

    private Program(Connection connection, TableName name) {
        this.connection = connection;
        this.name = name;
    }

    private interface Command {
        void run() throws IOException;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(ISO_8859_1);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, ISO_8859_1);
    }

    private void check(String what, Object got, Object expected) {
        checks++;
        if (!Objects.equals(got, expected)) {
            throw new AssertionError(what + ": got " + got + ", expected " + expected);
        }
    }

    private void refused(String what, String message, Command command) {
        try {
            command.run();
        } catch (IOException | RuntimeException raised) {
            for (Throwable one = raised; one != null; one = one.getCause()) {
                if (String.valueOf(one.getMessage()).contains(message)) {
                    checks++;
                    return;
                }
            }
            throw new AssertionError(what + ": got " + raised + ", expected " + message);
        }
        throw new AssertionError(what + ": an answer, expected " + message);
    }

    private static Put put(String row, String value) {
        return new Put(bytes(row)).addColumn(F, Q, bytes(value));
    }

    private static List<String> rows(Table table, Scan scan) throws IOException {
        List<String> found = new ArrayList<>();
        try (ResultScanner scanner = table.getScanner(scan)) {
            for (Result result : scanner) {
                found.add(text(result.getRow()));
            }
        }
        return found;
    }

    /** ThriftTable begins a new scan behind the rows of each fetch, so limits and PageFilter count for a fetch. */
    private static List<String> oneFetch(Table table, Scan scan) throws IOException {
        List<String> found = new ArrayList<>();
        try (ResultScanner scanner = table.getScanner(scan)) {
            for (Result result : scanner.next(4)) {
                found.add(text(result.getRow()));
            }
        }
        return found;
    }

    private void makeTable(Admin admin) throws IOException {
        ColumnFamilyDescriptor f = ColumnFamilyDescriptorBuilder.newBuilder(F).setMaxVersions(5).build();
        ColumnFamilyDescriptor n = ColumnFamilyDescriptorBuilder.of(N);
        TableDescriptor made = TableDescriptorBuilder.newBuilder(name).setColumnFamilies(Arrays.asList(f, n)).build();
        admin.createTable(made, new byte[][] {bytes("b"), bytes("c")});
        check("the new table is there", admin.tableExists(name), true);
        check("it is enabled", admin.isTableEnabled(name), true);
        check("it is available", admin.isTableAvailable(name), true);
        check("it is listed", Arrays.asList(admin.listTableNames()).contains(name), true);
        check("versions of f", admin.getDescriptor(name).getColumnFamily(F).getMaxVersions(), 5);
        refused("second create", name.getNameAsString(), () -> admin.createTable(made));
        admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("late"));
        check("families", admin.getDescriptor(name).getColumnFamilyNames().size(), 3);
        admin.deleteColumnFamily(name, bytes("late"));
        check("families again", admin.getDescriptor(name).getColumnFamilyNames().size(), 2);
    }

    private void writeAndRead(Table table) throws IOException {
        table.put(put("\u0000", "\u00ff\u00fe\u0000"));
        List<Put> several = new ArrayList<>();
        for (String row : Arrays.asList("a1", "a2", "b1", "b2", "c1", "\u00ff\u0080")) {
            several.add(put(row, "of " + row));
        }
        table.put(several);
        check("a binary value", text(table.get(new Get(bytes("\u0000"))).getValue(F, Q)), "\u00ff\u00fe\u0000");
        check("a row that is not there", table.get(new Get(bytes("none"))).isEmpty(), true);
        check("exists", table.exists(new Get(bytes("a1")).addColumn(F, Q)), true);
        Result[] two = table.get(Arrays.asList(new Get(bytes("a1")), new Get(bytes("none"))));
        check("several gets", text(two[0].getValue(F, Q)) + two[1].isEmpty(), "of a1true");
        for (long time = 1; time <= 3; time++) {
            table.put(new Put(bytes("v")).addColumn(F, Q, time, bytes("at " + time)));
        }
        Get versions = new Get(bytes("v")).readVersions(2).setTimeRange(0, 3);
        List<String> found = new ArrayList<>();
        for (Cell cell : table.get(versions).rawCells()) {
            found.add(cell.getTimestamp() + text(CellUtil.cloneValue(cell)));
        }
        check("versions below a time", found, List.of("2at 2", "1at 1"));
        table.delete(new Delete(bytes("v")).addColumns(F, Q, 3));
        check("a deleted column", table.exists(new Get(bytes("v"))), false);
        refused("missing family", "NoSuchColumnFamilyException", () -> table.get(new Get(bytes("a1")).addFamily(bytes("x"))));
    }

    private void scan(Table table) throws IOException {
        List<String> all = List.of("\u0000", "a1", "a2", "b1", "b2", "c1", "\u00ff\u0080");
        check("every row", rows(table, new Scan()), all);
        check("two at a time", rows(table, new Scan().setCaching(2)), all);
        check("limit", oneFetch(table, new Scan().setLimit(4)), all.subList(0, 4));
        check("PageFilter", oneFetch(table, new Scan().setFilter(new PageFilter(4))), all.subList(0, 4));
        FilterList either = new FilterList(
                FilterList.Operator.MUST_PASS_ONE, new PrefixFilter(bytes("a")), new PrefixFilter(bytes("c")));
        check("a FilterList", rows(table, new Scan().setFilter(either)), List.of("a1", "a2", "c1"));
        Scan back = new Scan().withStartRow(bytes("c")).withStopRow(bytes("a1")).setReversed(true);
        check("reversed", rows(table, back), List.of("b2", "b1", "a2"));
        table.put(new Put(bytes("t")).addColumn(F, Q, 5, bytes("five")).addColumn(N, Q, 5, bytes("five")));
        Scan timed = new Scan().withStartRow(bytes("t")).setLimit(1).setColumnFamilyTimeRange(F, 1, 5);
        try (ResultScanner scanner = table.getScanner(timed)) {
            Result result = scanner.next();
            check("a time range for one family", result.containsColumn(F, Q) + " " + result.containsColumn(N, Q), "false true");
        }
        table.delete(new Delete(bytes("t")));
    }

    private void change(Table table) throws IOException {
        check("increment", table.incrementColumnValue(bytes("n"), N, Q, 1L << 40), 1L << 40);
        check("and less", table.incrementColumnValue(bytes("n"), N, Q, -2), (1L << 40) - 2);
        table.append(new Append(bytes("a1")).addColumn(F, Q, bytes("\u0000\u00ff")));
        check("append", text(table.get(new Get(bytes("a1"))).getValue(F, Q)), "of a1\u0000\u00ff");
        boolean was = table.checkAndMutate(bytes("a2"), F).qualifier(Q).ifEquals(bytes("no")).thenPut(put("a2", "changed"));
        check("a condition that does not hold", was, false);
        was = table.checkAndMutate(bytes("a2"), F).qualifier(Q).ifEquals(bytes("of a2")).thenPut(put("a2", "changed"));
        check("one that does", was, true);
        RowMutations both = new RowMutations(bytes("a2"));
        both.add(put("a2", "last"));
        both.add(new Delete(bytes("a2")).addColumns(N, Q));
        table.mutateRow(both);
        check("mutateRow", text(table.get(new Get(bytes("a2"))).getValue(F, Q)), "last");
    }

    private void namespaces(Admin admin) throws IOException {
        String own = name.getNameAsString();
        admin.createNamespace(NamespaceDescriptor.create(own).addConfiguration("k", "v").build());
        check("its property", admin.getNamespaceDescriptor(own).getConfigurationValue("k"), "v");
        check("it is listed", Arrays.asList(admin.listNamespaces()).contains(own), true);
        admin.deleteNamespace(own);
        check("it is gone", Arrays.asList(admin.listNamespaces()).contains(own), false);
    }

    private void end(Admin admin, Table table) throws IOException {
        refused("drop while enabled", "TableNotDisabledException", () -> admin.deleteTable(name));
        admin.disableTable(name);
        check("disabled", admin.isTableDisabled(name), true);
        admin.truncateTable(name, true);
        check("enabled and empty", rows(table, new Scan()), List.of());
        admin.disableTable(name);
        admin.deleteTable(name);
        check("the dropped table is there", admin.tableExists(name), false);
    }

    private void run() throws IOException {
        try (Admin admin = connection.getAdmin();
                Table table = connection.getTable(name)) {
            makeTable(admin);
            writeAndRead(table);
            scan(table);
            change(table);
            namespaces(admin);
            end(admin, table);
        }
    }

    /** ThriftConnection has no setting for TLS, SASL and HTTPS; whoever needs them names a class that makes its clients. */
    public static final class Clients extends ThriftClientBuilder {
        public Clients(ThriftConnection connection) {
            super(connection);
        }

        @Override
        public Pair<THBaseService.Client, TTransport> getClient() throws IOException {
            try {
                TTransport transport = transport(connection.getHost(), connection.getPort());
                if (!transport.isOpen()) {
                    transport.open();
                }
                TProtocol protocol =
                        connection.isCompact() ? new TCompactProtocol(transport) : new TBinaryProtocol(transport);
                return new Pair<>(new THBaseService.Client(protocol), transport);
            } catch (TException | GeneralSecurityException error) {
                throw new IOException(error);
            }
        }

        private TTransport transport(String host, int port)
                throws TException, GeneralSecurityException, IOException {
            switch (connection.getConfiguration().get("the way in")) {
                case "tls":
                    return new TSocket(trusted().getSocketFactory().createSocket(host, port));
                case "https":
                    HttpsURLConnection.setDefaultSSLSocketFactory(trusted().getSocketFactory());
                    THttpClient posts = new THttpClient("https://" + host + ":" + port + "/");
                    String pair = System.getenv("LANGUAGES_USER") + ":" + System.getenv("LANGUAGES_SECRET");
                    String said = Base64.getEncoder().encodeToString(bytes(pair));
                    posts.setCustomHeader("Authorization", "Basic " + said);
                    return posts;
                case "kerberos":
                    Map<String, String> properties = Collections.singletonMap(Sasl.QOP, System.getenv("LANGUAGES_QOP"));
                    return new TSaslClientTransport(
                            "GSSAPI", null, "hbase", host, properties, null, new TSocket(host, port));
                default:
                    return new TSaslClientTransport(
                            "PLAIN", null, "hbase", host, Collections.emptyMap(), Clients::sayWho, new TSocket(host, port));
            }
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
                CertificateFactory read = CertificateFactory.getInstance("X.509");
                authorities.setCertificateEntry("ca", read.generateCertificate(file));
            }
            TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            managers.init(authorities);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, managers.getTrustManagers(), null);
            return context;
        }
    }

    public static void main(String[] arguments) throws IOException {
        Configuration configuration = HBaseConfiguration.create();
        configuration.set("hbase.client.connection.impl", ThriftConnection.class.getName());
        configuration.set("hbase.thrift.server.name", arguments[0]);
        configuration.set("hbase.thrift.server.port", arguments[1]);
        configuration.setBoolean("hbase.regionserver.thrift.framed", arguments[2].equals("framed"));
        configuration.setBoolean("hbase.regionserver.thrift.compact", arguments[3].equals("compact"));
        if (!arguments[2].equals("buffered") && !arguments[2].equals("framed")) {
            configuration.set("hbase.thrift.client.builder.class", Clients.class.getName());
            configuration.set("the way in", arguments[2]);
        }
        String own = "languages_java2_" + UUID.randomUUID().toString().replace("-", "");
        try (Connection connection = ConnectionFactory.createConnection(configuration)) {
            Program program = new Program(connection, TableName.valueOf(own));
            try {
                program.run();
            } catch (IOException | RuntimeException | AssertionError error) {
                System.out.println("after " + program.checks + " checks on " + own + ": " + error);
                error.printStackTrace();
                System.exit(1);
            }
            System.out.println("ok " + program.checks);
        }
    }
}
