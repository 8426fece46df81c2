"""What writes the bytecode files beside it: entries as cuTile Rust's compiler makes them, encoded by this package."""
