"""Proved machine code on a GPU: `driver` speaks to CUDA, `loaded` lays out parameters, `kernel` launches."""
