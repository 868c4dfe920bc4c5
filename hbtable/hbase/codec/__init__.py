"""Thrift's bytes to calls and answers to bytes, in the protocols that clients speak."""
