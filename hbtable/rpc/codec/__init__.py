"""Calls between roles as bytes and back: Thrift's binary protocol, model values, errors."""
