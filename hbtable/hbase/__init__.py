"""The gateway: HBase's Thrift 1 service (thrift/hbase.thrift) on one port, for every transport and protocol.

codec/      bytes in: sniffing.py -> hbtable.thrift: message_input, a reader, as interface.py lays it out
            bytes out: answers.py -> binary_answers.py; wires.py puts both together for each protocol
calls/      reads.py  writes.py  scanner_calls.py  tables.py    one short method per call of the interface
admin/      cells.py  chores.py  cluster_backend.py  compactions.py  tables.py  tablets.py    the same for our own
service,
            thrift/admin.thrift
thrift2/    reads.py  writes.py  scanners.py  tables.py    the same for HBase's newer service, thrift/hbase2.thrift
            with conversion.py and descriptors.py of its own
meaning     conversion.py  regions.py  errors.py  server_names.py
transports/ http.py (messages in HTTP)
around      opening.py (what a client speaks), security.py (who may call), connection.py (one client),
            server.py (all of them), log_limiter.py, slow.py
below       backend.py: what it needs from there

HBase's word *region* for a tablet exists only here.
"""
