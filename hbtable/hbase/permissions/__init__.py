"""The permission that each call of the Thrift port needs.

    methods.py        a table: every method of Thrift1, Thrift2 and the admin service, and its requirement
    requirements.py   the kinds of requirements
    guard.py          the checks themselves, over the grants that this process knows
    guarded_table.py  reads and writes, checked below all three services

A method without an entry keeps the gateway from starting, whether or not authentication is on.
"""
