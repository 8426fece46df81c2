"""Confined processes."""
