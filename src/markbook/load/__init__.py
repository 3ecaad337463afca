"""Reading what users bring: benchmarks, answers, task data, papers. All of it is hostile until parsed."""
