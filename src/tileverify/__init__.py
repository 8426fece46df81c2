"""tileverify: static proof of GPU tile kernels on CUDA Tile IR bytecode."""

__version__ = "0.1.0"
