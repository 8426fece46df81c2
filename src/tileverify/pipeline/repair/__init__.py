"""Repairs of refuted kernels: changes to the source that were proved before anybody is told of them."""
