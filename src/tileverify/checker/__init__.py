"""A second reading of bytecode: what a certificate says of a kernel's accesses, checked op by op (docs/checker.md)."""
