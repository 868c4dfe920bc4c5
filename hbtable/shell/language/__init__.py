"""The shell's language: Ruby's call syntax by a grammar of our own, never eval."""
