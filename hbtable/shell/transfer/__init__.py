"""Bulk import and export: reading.py and records.py know the file formats, parquet.py one more, transfer_workers.py the
connections, parts.py what an export is made of, progress.py how far it came; importing.py and exporting.py move rows. A
transfer that was broken off goes on where it stopped."""
