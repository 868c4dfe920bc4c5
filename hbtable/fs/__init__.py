"""The file system port (GFS's place in the paper): append-only files, ranged reads, atomic small files.

interface.py states the promises; local.py and memory.py implement them, faulty.py injects faults. One conformance suite
(tests/ports/test_fs.py) runs over all.
"""
