"""From a contract and a few numbers to a legal launch: sizes, inputs, checks, outputs, files."""
