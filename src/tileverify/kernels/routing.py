"""Mixtures of experts: which experts a token goes to, in which rows they find it, and the way back.

>>> import numpy as np
>>> from tileverify.kernels import combine, dispatch, matmul_experts, place_tokens, route
>>> x, weights = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([[[1.0, 1.0]], [[2.0, 0.0]]], np.float32)
>>> experts, shares = route(np.array([[0.0, 9.0], [5.0, 5.0]], np.float32), 1)
>>> placed = place_tokens(experts, len(weights))
>>> rows = dispatch(x, placed.places, placed.rows)
>>> combine(matmul_experts(rows, weights, placed.experts), placed.places, shares).tolist()
[[2.0], [7.0]]
"""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, overload

from ..system.errors import UsageError
from .arrays import (
    A,
    AnyArray,
    Array,
    ArrayOf,
    Float32s,
    Int32s,
    NumPyArray,
    contiguous,
    empty,
    filled,
    need,
    need_axes,
    need_type,
    takes_jax,
)
from .prepared import launch, no_gradient
from .products import FLOATS, ROWS

CHOICE: Final = (16, 128, 8)
"""Tokens of a tile, experts at most, and how many of them are chosen at most."""

ITEMS: Final = 1024
COUNTS: Final = 256
EXPERTS_OF: Final = (128, 64)
"""Tiles that find their expert together, and experts that they look at together."""

WIDTH: Final = 1024
"""Elements of a row that are copied together."""


class Placed(NamedTuple, Generic[A]):
    """Where tokens go: `place_tokens`.

    ``places`` int32 (T, K): the row of each token for each of its experts, -1 for none.  ``experts`` int32 (P): that of
    each 64 rows, -1 for rows that are not used.  ``rows``: 64 P.

    >>> import numpy as np
    >>> from tileverify.kernels import place_tokens
    >>> placed = place_tokens(np.array([[1], [0], [1]], np.int32), 2)
    >>> placed.places.tolist(), placed.experts.tolist(), placed.rows
    ([[64], [0], [65]], [0, 1], 128)
    """

    places: A
    experts: A
    rows: int


@overload
def route(logits: NumPyArray, count: int, *, renormalize: bool = True) -> tuple[Int32s, Float32s]: ...
@overload
def route(logits: ArrayOf[A], count: int, *, renormalize: bool = True) -> tuple[A, A]: ...
@takes_jax
def route(logits: AnyArray, count: int, *, renormalize: bool = True) -> tuple[Array, Array]:
    """The ``count`` experts of each token with the largest logits, and their shares in the softmax.

    With ``renormalize``, the shares of those that are chosen add up to 1.  logits (T, E) with 128 experts at most, of
    which 8 at most are chosen; the results are int32 and float32 (T, count).  Of equal logits the first ones are
    chosen.  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import route
    >>> experts, shares = route(np.log(np.array([[1.0, 5.0, 2.0, 3.0]], np.float32)), 2)
    >>> print(experts, shares.round(4))
    [[1 3]] [[0.625 0.375]]
    """
    no_gradient("route", logits=logits)
    need_axes("(T, E)", logits=logits)
    need_type(*FLOATS, logits=logits)
    tokens, experts = logits.shape
    if experts > CHOICE[1]:
        raise UsageError(f"`logits` has {experts} experts for each token, and it takes {CHOICE[1]} at most")
    if not 1 <= count <= min(experts, CHOICE[2]):
        raise UsageError(f"`count` is {count}, and it takes 1 to {min(experts, CHOICE[2])}")
    chosen, shares = empty((tokens, count), logits, "i32"), empty((tokens, count), logits, "f32")
    if tokens:
        grid = (-(-tokens // CHOICE[0]),)
        launch("routing.route", grid, contiguous(logits), chosen, shares, *CHOICE, renormalize, like=logits)
    return chosen, shares


@takes_jax
def place_tokens(experts: ArrayOf[A], count: int) -> Placed[A]:
    """Rows for all tokens, so that those of one expert lie together, and each 64 rows have one expert.

    experts int32 (T, K): of ``count`` experts, as `route` gives them; a token has no row for others.

    >>> import numpy as np
    >>> from tileverify.kernels import place_tokens
    >>> place_tokens(np.array([[1, 0], [1, 2]], np.int32), 2).places.tolist()
    [[64, 0], [65, -1]]
    """
    need_axes("(T, K)", experts=experts)
    need_type("i32", experts=experts)
    if count < 1:
        raise UsageError(f"`count` is {count}, and it takes 1 and up")
    items = contiguous(experts).reshape((-1,))
    places = filled(items.shape, -1, experts)
    # As many as there are if every expert's last tile has one row alone; so nothing has to be fetched to know it.
    tiles = (items.shape[0] + count * (ROWS - 1)) // ROWS
    counts, offsets = empty((count,), experts), empty((count + 1,), experts)
    of_tiles = empty((tiles,), experts)
    launch("routing.expert_counts", (count,), items, counts, ITEMS, like=experts)
    launch("routing.expert_offsets", (1,), counts, offsets, COUNTS, ROWS, like=experts)
    if tiles:
        grid = (-(-tiles // EXPERTS_OF[0]),)
        launch("routing.tile_experts", grid, offsets, of_tiles, *EXPERTS_OF, ROWS, like=experts)
        launch("routing.expert_places", (count,), items, offsets, places, ITEMS, like=experts)
    return Placed(places.reshape(experts.shape), of_tiles, tiles * ROWS)


@takes_jax
def dispatch(x: ArrayOf[A], places: AnyArray, rows: int) -> A:
    """Copies each token to its rows: x (T, D), places int32 (T, K); the result is (rows, D), 0 where no token goes.

    Places that are no row are left out; that no two are one row is checked, and such a launch is refused.  It has no
    gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import dispatch
    >>> dispatch(np.array([[5.0], [6.0]], np.float32), np.array([[2, 0], [1, -1]], np.int32), 4).ravel().tolist()
    [5.0, 6.0, 5.0, 0.0]
    """
    no_gradient("dispatch", x=x)
    need_axes("(T, D)", x=x)
    need_axes("(T, K)", places=places)
    need((x.shape[0], places.shape[1]), places=places)
    need_type(*FLOATS, x=x)
    need_type("i32", places=places)
    out = filled((rows, x.shape[1]), 0, x)
    if 0 not in (*out.shape, *places.shape):
        grid = (x.shape[0], -(-x.shape[1] // WIDTH), places.shape[1])
        given, facts = (contiguous(x), contiguous(places).reshape((-1,))), ["injective(places, 0, out.shape[0])"]
        launch("routing.dispatch", grid, *given, out, WIDTH, like=x, data=facts)
    return out


@takes_jax
def combine(rows: ArrayOf[A], places: AnyArray, weights: AnyArray) -> A:
    """The sum of each token's rows, times its weights: rows (R, D), places int32 and weights float32 (T, K).

    The result is (T, D) with the elements of rows; places that are no row add nothing.  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import combine
    >>> rows, places = np.array([[1.0], [10.0]], np.float32), np.array([[1, 0], [0, -1]], np.int32)
    >>> combine(rows, places, np.array([[0.5, 3.0], [2.0, 9.0]], np.float32)).tolist()
    [[8.0], [2.0]]
    """
    no_gradient("combine", rows=rows, weights=weights)
    need_axes("(R, D)", rows=rows)
    need_axes("(T, K)", places=places)
    need(places.shape, weights=weights)
    need_type(*FLOATS, rows=rows)
    need_type("i32", places=places)
    need_type("f32", weights=weights)
    out = filled((places.shape[0], rows.shape[1]), 0, rows)
    if 0 not in (*out.shape, *places.shape):
        grid = (out.shape[0], -(-out.shape[1] // WIDTH))
        given = (contiguous(rows), contiguous(places), contiguous(weights))
        launch("routing.combine", grid, *given, out, WIDTH, like=rows)
    return out
