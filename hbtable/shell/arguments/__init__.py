"""What commands are given, read into values: tables, columns, options, schemas, splits."""
