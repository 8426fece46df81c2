"""Facts about the contents of index arrays: one module for each kind (`kinds` lists them), and what all kinds share."""
