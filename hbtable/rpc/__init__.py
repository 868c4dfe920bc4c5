"""Calls between client library, tablet servers and master, in model terms.

services.py: what each role offers. transport.py: how to reach one. Within one process a call is a plain method call
(local.py). To another process it goes

    proxies -> peer (what a failure means) -> connections -> frames ... frames -> thrift_server -> local

as a Thrift message: codec_calls.py has the calls, codec_model.py, codec_cells.py and codec_errors.py the values,
codec_binary.py the bytes.
"""
