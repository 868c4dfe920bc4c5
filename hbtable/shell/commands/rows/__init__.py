"""Commands that read and write rows."""
