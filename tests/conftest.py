"""Shared fixtures and the command-line flags of the suite."""
