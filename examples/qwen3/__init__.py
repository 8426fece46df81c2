"""Qwen3 from proved kernels alone: every launch on the path of a token is one of `tileverify.kernels`."""
