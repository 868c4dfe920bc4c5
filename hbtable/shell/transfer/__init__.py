"""Bulk import and export: records.py reads and writes the file formats, progress.py remembers how far it came,
importing.py and exporting.py move rows. A transfer that was broken off goes on where it stopped."""
