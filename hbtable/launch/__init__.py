"""Composition roots: configuration, the embedded cluster, one role per process, signals, shutdown order, commands.

The only package that knows every other; nothing imports it but the command line and hbtable.open().
cli/ has the commands, config/ the configuration, roles/ the processes of a cluster, http/ what a server shows of
itself; serve.py is the single server, embedded.py is hbtable.open().
"""
