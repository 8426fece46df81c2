"""Proved machine code on a GPU: `driver` speaks to CUDA, `packing` lays out parameters, `kernel` launches."""
