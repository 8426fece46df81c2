"""Launches run in the interpreter to see something: a fault, what was written, what is left open."""
