"""The ``merlinkit`` command."""
