"""Bytes of global memory that a launch moves, and the least that it has to move.

*Least*: every byte that the launch reads at all, once, and every byte that it writes, once.  *Moves*: what each load,
store and atomic touches, summed over all blocks, iterations and lanes; an atomic reads and writes.  A lane that is
masked, or that lies outside of the array and is padded, moves nothing.  Caches and registers play no part: an access
counts as often as the program makes it.  So a launch moves at least the least, and the factor between the two is what
caches have to make up for.

How a number comes about:

1. `regions` and `accounts` evaluate the access summary in one launch of numbers.  They count, they sample
   nothing: the number is exact if the summary is.  The summary is what the verifier proves kernels with.
2. Where contents decide whether an access happens, or a `while` loop when it ends, the number is a bound: "at most".
   Where contents decide the place, the least is one.
3. `measured` finds an expression in the sizes that gives the counted numbers in tens of launches of the contract: at
   the borders of tiles, with sizes of thousands, and behind each number that the kernel or its grid names.  It is
   dropped if it fails in one of them, or in the launch that is shown.  It is no proof: the report says in how many
   launches it was seen to hold.
4. `accounts` runs a few of the small launches in the interpreter, which knows nothing of summaries.  Its log must have
   the same bytes, access by access and array by array; otherwise no number is shown at all.
"""
