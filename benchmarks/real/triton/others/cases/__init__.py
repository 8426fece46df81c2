"""Calls of operations of adasplash, gemlite and torchao; each launches some kernels."""
