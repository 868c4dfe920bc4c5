"""Which files nobody needs any more, and how they are deleted (paper, section 6)."""
