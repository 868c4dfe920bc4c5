"""How answers look: HBase's lines, tables, JSON, CSV."""
