"""The version, read from the installed package."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("merlinkit")
