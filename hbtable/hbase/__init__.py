"""The front door: HBase's Thrift 1 service (thrift/hbase.thrift) on one port, for every transport and protocol.

bytes in    sniffing.py -> message_input.py -> binary_reader.py | compact_reader.py    laid out by interface.py
calls       reads.py  writes.py  scanner_calls.py  calls/tables.py    one short method per call of the interface
            admin/tables.py  admin/tablets.py  admin/cells.py  admin/compactions.py  admin/chores.py    the same for our
            own service, thrift/admin.thrift
meaning     conversion.py  regions.py  scanners.py  errors.py  transitions.py  server_names.py
bytes out   answers.py -> binary_answers.py
around      connection.py (one client), server.py (all of them), transfers.py (their memory), complaints.py, slow.py
below       backend.py: what it needs from there

HBase's word *region* for a tablet exists only here.
"""
