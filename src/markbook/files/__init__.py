"""Files that users name, read once and bounded: bytes, lines, tables, archives and JSON as a stream."""
