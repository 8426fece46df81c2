"""The reference interpreter against a GPU: the same launches, the same memory, the assembled kernels."""
