"""The file system port (GFS's place in the paper): append-only files, ranged reads, atomic small files.

interface.py states the promises; opened.py chooses who keeps them, by the address:

    local.py                       a folder of this machine
    webhdfs/file_system.py, webhdfs_*.py       HDFS over HTTP; webhdfs_twin*.py is one in memory, with its quirks
    hdfs_native_*.py               HDFS over Hadoop's own protocol; hdfs_native_twin*.py likewise
    memory.py                      for tests and simulation; testing/faulty_fs.py injects faults into any

One conformance suite (tests/ports) runs over all, and over a real HDFS in cluster-tests.
"""
