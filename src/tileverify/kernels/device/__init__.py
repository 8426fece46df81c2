"""Proved kernels: what runs on the device."""
