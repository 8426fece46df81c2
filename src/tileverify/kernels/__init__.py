"""A library of kernels that are proved for any sizes."""
