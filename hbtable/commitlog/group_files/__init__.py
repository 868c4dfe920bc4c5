"""A log in whole files, one per group, for a file system that can do no more (WebHDFS)."""
