"""Media: they draw documents, tables and figures, and neither choose, round nor word anything."""
