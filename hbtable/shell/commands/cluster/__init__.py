"""Commands of operators: servers, where tablets are, their files, and what the master does by itself."""
