"""``python -m merlinkit`` is the same as ``merlinkit``."""

import sys

from merlinkit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
