"""Expressions in CEL (Common Expression Language) beside the tablets: a filter of rows, and a computed column.

Section 3 of the paper lets clients' scripts run in the server, which filter, transform and summarise, and cannot write
(docs/decisions/0038). language.py is what the hub knows of one; program.py runs in a worker process, which alone
imports the library; rows.py is the node of a running filter.
"""
