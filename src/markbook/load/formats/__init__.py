"""The benchmarks whose files are read as they are published, one module a layout."""
