"""The sections of a report: each module turns a `RunRecord` into what the template shows."""
