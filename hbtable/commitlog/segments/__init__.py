"""A log in open files, on a local disk or on HDFS natively: its writer, and its files."""
