"""Models that score a row: how likely is this user to act on this item."""
