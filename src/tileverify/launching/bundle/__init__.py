"""Bundles: a proved kernel with everything it takes to run it, in one file (``.tvk``)."""
