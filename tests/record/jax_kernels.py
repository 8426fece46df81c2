"""A program that calls kernels from JAX, and a kernel with every kind of argument that such a call can have."""

import cuda.tile as ct

PROGRAM = """
import jax
import jax.numpy as jnp
import cuda.tile as ct
from cuda.tile.jax import InputOutput, OutputPlaceholder, cutile_call

@ct.kernel
def scale(x, y, factor: ct.Constant, tile: ct.Constant):
    ct.store(y, ct.bid(0), ct.load(x, ct.bid(0), tile) * factor)

@ct.kernel
def halve(x, tile: ct.Constant):
    ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), tile) / 2)

@ct.kernel
def both(a, b, pair: tuple[ct.Array, ct.Array], n, tile: ct.Constant):
    left, right = ct.load(a, ct.bid(0), tile), ct.load(b, ct.bid(0), tile)
    ct.store(pair[0], ct.bid(0), (left + right) * n)
    ct.store(pair[1], ct.bid(0), left - n)

def calls(x, tile):
    grid, new = (ct.cdiv(x.shape[0], tile),), OutputPlaceholder(x.shape, x.dtype)
    y = cutile_call(grid, scale, (x, new, 4.0, tile))
    y = cutile_call(grid, halve, (InputOutput(y), tile))
    return cutile_call(grid, both, (y, y, (new, new), 3, tile))
"""


@ct.kernel
def mixed(x, pair: tuple[ct.Array, ct.Array], n, tile: ct.Constant[int]):
    ct.store(x, (ct.bid(0), 0), ct.load(pair[0], (ct.bid(0), 0), (4, tile)) * n)
