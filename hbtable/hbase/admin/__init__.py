"""The calls of our own admin service (thrift/admin.thrift), one short method each."""
