"""Commands, one idea per file. Each is (context, arguments) -> what it evaluates to; the first line of its answer
goes out before the server is asked where HBase does so."""
