"""The readers, one module a framework; each knows its own log and no other's."""
