"""Reading several sorted sources as one (paper, sections 5.3 and 5.4): merging, visibility, what a compaction writes.

Pure and hot: sorted pairs in, sorted pairs or rows out; never opens anything and never looks at a clock.
"""
