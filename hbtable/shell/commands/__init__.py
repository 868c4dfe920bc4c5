"""Commands, one idea per file. Each takes (context, arguments) and returns the command's value; it prints the first
line of its answer before the server is asked, where HBase does so."""
