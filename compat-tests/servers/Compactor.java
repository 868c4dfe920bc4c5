import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;

/**
 * Real flushes and major compactions for replay.py --admin: HBase's Thrift majorCompact only asks for a minor one. Says
 * {@code ready}; then for every line {@code flush TABLE} or {@code major TABLE} says {@code ok} when that is done.
 */
public final class Compactor {
    public static void main(String[] arguments) throws IOException, InterruptedException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
                Admin admin = connection.getAdmin()) {
            System.out.println("ready");
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                TableName table = TableName.valueOf(words[1]);
                admin.flush(table);
                if (words[0].equals("major")) {
                    compact(admin, table);
                }
                System.out.println("ok");
            }
        }
    }

    /** A compaction that has not begun yet looks like one that is over, hence the first wait. */
    private static void compact(Admin admin, TableName table) throws IOException, InterruptedException {
        admin.majorCompact(table);
        Thread.sleep(500);
        while (admin.getCompactionState(table) != CompactionState.NONE) {
            Thread.sleep(50);
        }
    }
}
