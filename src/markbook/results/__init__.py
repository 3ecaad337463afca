"""The one place where missing values are settled: from measurements to summaries."""
