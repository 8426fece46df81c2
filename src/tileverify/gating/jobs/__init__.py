"""What is done in confined processes: compile, propose, prove, try."""
