"""`hbtable bench`: the measurements of the paper's section 7 against any server that speaks HBase's Thrift1.

workloads.py says what one client does, clients.py runs N of them and gives them rows as they finish, measuring.py takes
one server through all workloads, report.py prints figure 6 beside the paper's, and picture.py draws it.
"""
