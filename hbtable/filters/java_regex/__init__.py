r"""Java's regular expressions, as java.util.regex of Java 8 to 17 understands them: HBase's regexstring speaks no other
dialect.

Reading order: pattern (the tree), charset and properties (sets of characters), source (the pattern's text, \Q..\E
resolved), escapes, classes and parser (text to tree), re2_text and regex_text (tree to the text of an engine).
Which engine searches is decided in filters.patterns.
"""
