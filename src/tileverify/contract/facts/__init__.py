"""Facts about the contents of index arrays: as checks, as contents that keep them."""
