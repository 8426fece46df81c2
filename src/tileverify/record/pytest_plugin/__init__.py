"""Test suites whose launches are verified: the pytest plugin (`plugin`) and what it notes of each launch."""
