"""The library for programs: databases, tables and batches with happybase's names and meanings, and what HBase's client
and the paper (section 3) have beyond them. One interface, whether the tables are in this process or behind Thrift."""
