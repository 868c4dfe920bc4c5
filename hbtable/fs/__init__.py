"""The file system port (GFS's place in the paper): append-only files, ranged reads, atomic small files.

interface.py states the promises; opened.py chooses who keeps them, by the address:

    local.py     a folder of this machine
    webhdfs/     HDFS over HTTP
    hdfs/        HDFS over Hadoop's own protocol
    memory.py    no disk at all; `hbtable check` tries a start over it (overlay.py), and simulations run on it

A file system that fails as told, and fakes of HDFS, are in hbtable/testing.

One conformance suite (tests/ports) runs over all, and over a real HDFS in cluster-tests.
"""
