# The reader of interface files.
