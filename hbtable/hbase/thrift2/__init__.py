"""HBase's Thrift2 service: one short method per call, with the backends and the limits of Thrift1's."""
