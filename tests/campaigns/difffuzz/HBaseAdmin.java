import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What the fuzzer needs of a real HBase and Thrift1 has no call for. One command a line on stdin, words separated by
 * blanks, byte strings in hex ("-" is the empty one); one line "ok ..." or "error ..." for each.
 * A family is hex,maxVersions,minVersions,ttlSeconds,bloom,compression,inMemory,newVersionBehavior,keepDeletedCells.
 * {@code create} returns before the table is there; {@code created} waits for all of them.
 */
public class HBaseAdmin {
  static Connection conn;
  static Admin admin;
  static final ExecutorService pool = Executors.newFixedThreadPool(6);
  static final List<Future<?>> creations = new ArrayList<>();

  static byte[] hex(String s) { return s.equals("-") ? new byte[0] : Bytes.fromHex(s); }
  static String hex(byte[] b, int off, int n) { return n == 0 ? "-" : Bytes.toHex(b, off, n); }
  static TableName table(String s) { return TableName.valueOf(s); }

  static ColumnFamilyDescriptor family(String s) {
    String[] p = s.split(",");
    return ColumnFamilyDescriptorBuilder.newBuilder(hex(p[0])).setMaxVersions(Integer.parseInt(p[1]))
        .setMinVersions(Integer.parseInt(p[2])).setTimeToLive(Integer.parseInt(p[3])).setBloomFilterType(BloomType.valueOf(p[4]))
        .setCompressionType(Compression.Algorithm.valueOf(p[5])).setInMemory(p[6].equals("1"))
        .setNewVersionBehavior(p[7].equals("1")).setKeepDeletedCells(KeepDeletedCells.valueOf(p[8])).build();
  }

  static Callable<Object> creation(String[] w) {
    return () -> {
      TableDescriptorBuilder b = TableDescriptorBuilder.newBuilder(table(w[1]));
      for (String f : w[2].split(";")) b.setColumnFamily(family(f));
      byte[][] splits = new byte[w.length - 3][];
      for (int i = 3; i < w.length; i++) splits[i - 3] = hex(w[i]);
      if (splits.length > 0) admin.createTable(b.build(), splits); else admin.createTable(b.build());
      return null;
    };
  }

  static void drop(String name) {
    pool.submit(() -> {
      try { admin.disableTable(table(name)); } catch (Exception e) { /* was disabled, or is not there */ }
      try { admin.deleteTable(table(name)); } catch (Exception e) { /* is not there */ }
    });
  }

  static void idle(TableName t) throws Exception {
    long end = System.currentTimeMillis() + 20000;
    for (int n = 0; n < 4; ) {
      Thread.sleep(25);
      n = admin.getCompactionState(t) == CompactionState.NONE ? n + 1 : 0;
      if (System.currentTimeMillis() > end) throw new IllegalStateException("compaction does not end");
    }
  }

  static void split(TableName t, byte[] row) throws Exception {
    int before = admin.getRegions(t).size();
    admin.flush(t);
    admin.split(t, row);
    long end = System.currentTimeMillis() + 20000;
    while (admin.getRegions(t).size() <= before || !admin.isTableAvailable(t)) {
      Thread.sleep(50);
      if (System.currentTimeMillis() > end) throw new IllegalStateException("split does not end");
    }
  }

  static String dump(TableName t, long before) throws Exception {
    Scan s = new Scan().readAllVersions();
    if (before != Long.MAX_VALUE) s.setTimeRange(0, before);
    StringBuilder out = new StringBuilder("ok");
    try (Table x = conn.getTable(t); ResultScanner scanner = x.getScanner(s)) {
      for (Result r : scanner)
        for (Cell c : r.rawCells())
          out.append(' ').append(hex(c.getRowArray(), c.getRowOffset(), c.getRowLength()))
              .append(',').append(hex(c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength()))
              .append(',').append(hex(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength()))
              .append(',').append(c.getTimestamp()).append(',').append(c.getType().getCode())
              .append(',').append(hex(c.getValueArray(), c.getValueOffset(), c.getValueLength()));
    }
    return out.toString();
  }

  static String run(String[] w) throws Exception {
    switch (w[0]) {
      case "create": creations.add(pool.submit(creation(w))); return "ok";
      case "created": for (Future<?> f : creations) f.get(); creations.clear(); return "ok";
      case "drop": for (int i = 1; i < w.length; i++) drop(w[i]); return "ok";
      case "flush": admin.flush(table(w[1])); return "ok";
      case "major": admin.flush(table(w[1])); Thread.sleep(5); admin.majorCompact(table(w[1])); idle(table(w[1])); return "ok";
      case "add": admin.addColumnFamily(table(w[1]), family(w[2])); return "ok";
      case "modify": admin.modifyColumnFamily(table(w[1]), family(w[2])); return "ok";
      case "remove": admin.deleteColumnFamily(table(w[1]), hex(w[2])); return "ok";
      case "truncate": admin.disableTable(table(w[1])); admin.truncateTable(table(w[1]), w[2].equals("1")); return "ok";
      case "split": split(table(w[1]), hex(w[2])); return "ok";
      case "dump": return dump(table(w[1]), Long.parseLong(w[2]));
      case "delete": {   // delete TABLE row kind family qualifier timestamp (-1: none)
        Delete d = new Delete(hex(w[2]));
        byte[] f = hex(w[4]), q = hex(w[5]);
        long ts = Long.parseLong(w[6]);
        if (w[3].equals("version")) { if (ts < 0) d.addColumn(f, q); else d.addColumn(f, q, ts); }
        else if (w[3].equals("family-version")) d.addFamilyVersion(f, ts);
        else throw new IllegalArgumentException(w[3]);
        try (Table t = conn.getTable(table(w[1]))) { t.delete(d); }
        return "ok";
      }
      default: throw new IllegalArgumentException(w[0]);
    }
  }

  public static void main(String[] args) throws Exception {
    conn = ConnectionFactory.createConnection(HBaseConfiguration.create());
    admin = conn.getAdmin();
    admin.tableExists(TableName.valueOf("x"));
    System.out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line; (line = in.readLine()) != null; ) {
      String answer;
      try { answer = run(line.trim().split(" ")); }
      catch (Throwable e) {
        Throwable c = e instanceof java.util.concurrent.ExecutionException ? e.getCause() : e;
        answer = "error " + c.toString().replace('\n', ' ');
      }
      System.out.println(answer);
    }
    System.exit(0);
  }
}
