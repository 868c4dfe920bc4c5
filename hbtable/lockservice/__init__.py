"""The lock service port (Chubby's place, paper section 4): sessions, locks, small versioned files.

interface.py states the promises; local.py keeps files in a folder behind one flock, memory.py in memory.
"""
