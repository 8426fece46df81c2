"""The kernels that are measured on a GPU, each proved before it runs there."""
