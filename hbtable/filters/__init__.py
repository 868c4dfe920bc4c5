"""HBase's filter language and its evaluation over whole rows (reference: hbase-thrift.md, section 3).

Pure. parse() text to an expression (grammar), start() an evaluation of it (evaluate); the vocabulary is in expression.
"""
