"""The commands, a module each: thin callers of the pipeline, which they import when they run, never for ``--help``."""
