"""A second reading of a proof: an access summary on launches of numbers, beside the interpreter's log."""
