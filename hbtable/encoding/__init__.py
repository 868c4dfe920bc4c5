"""Bytes on disk and on the wire, apart from files: varints, cell keys, tablet and table records. Pure and hot."""
