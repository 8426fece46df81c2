"""Triton kernels: their Triton IR (TTIR) is read, and translated into Tile IR that everything behind the decoder
reads."""
