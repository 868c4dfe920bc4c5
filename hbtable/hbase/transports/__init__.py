"""Thrift's transports that are more than a frame: each is a stream of framed messages inside of another stream."""
