"""HBase's filter language and its evaluation over whole rows (docs/contract.md: filter language).

Pure. parse() text to an expression (grammar), start() an evaluation of it (evaluate); the vocabulary is in expression.
"""
