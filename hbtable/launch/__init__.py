"""Composition roots: configuration, the embedded cluster, one role per process, signals, shutdown order, commands.

The only package that knows every other; nothing imports it but the command line and hbtable.open().
"""
