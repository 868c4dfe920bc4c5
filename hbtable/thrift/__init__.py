"""Thrift as bytes: kinds of values, how structs are laid out, and reading and writing both protocols with limits.

The gateway (hbtable.hbase) and the calls between roles (hbtable.rpc) declare what their structs are; this package knows
neither.
"""
