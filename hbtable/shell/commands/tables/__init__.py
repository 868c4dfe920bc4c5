"""Commands about tables and namespaces: what there is, how it is made, changed and divided."""
