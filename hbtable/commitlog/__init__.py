"""The commit log of a tablet server: records, group commit, reading, sorting (paper, sections 5.3 and 6)."""
