"""From spans to steps: what the readers of OpenTelemetry, Jaeger, Langfuse and LangSmith share."""
