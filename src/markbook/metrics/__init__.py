"""Ways to mark an attempt: text, similarity, code and quality. Each is a plugin; none imports another.

A metric is an object of the `markbook.types.Metric` protocol, made by a factory with keyword options that
an entry point in `markbook.metrics` names. Beyond the protocol a metric may have

- `needs_reference` (bool, default True): False lets `markbook.measure` run it without references;
- `measure_rows(candidates, references) -> list[Measurement]`: given the raw rows instead of items, for metrics
  whose candidate is not one text (pass@k takes a list of programs);
- `averages` (bool, default True): False if its summary is not the mean; then `resample(measurements, draws)` may
  give the summaries of many resamplings at once;
- `whole_batch` (bool, default False): True if dividing a batch would change its values;
- `signs(signature) -> bool`: whether a measurement so signed was made with its options, where measuring tells more
  than the options do (which model was loaded); by default the signatures must be equal;
- `together(metrics, items) -> list[list[Measurement]]`: several metrics of one family in one pass.
"""
