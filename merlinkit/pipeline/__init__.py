"""The stages of a run, from raw logs to a report, and the typed configuration that drives them."""
