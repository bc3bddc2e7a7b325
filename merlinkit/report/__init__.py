"""One self-contained HTML page a run, and the profile of raw data that it shows."""
