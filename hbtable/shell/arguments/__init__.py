"""Reads the arguments of commands into values: tables, columns, options, schemas, splits."""
