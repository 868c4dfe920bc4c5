"""Tables and namespaces: what is checked of their schemas, and how they change."""
