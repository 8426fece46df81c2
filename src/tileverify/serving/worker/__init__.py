"""A process that has everything loaded, and answers command lines as a new one would, in a fraction of the time.

`serving` loads and waits; for each request it forks a child, which becomes the asking process (`child`): its folder,
variables and streams.  So no module of a user outlives the request that ran it, and what is printed is printed by the
very code that prints it without a worker.  `place` says who may ask whom, `stamps` when a worker is out of date.
`confinement` compares what two processes may do; `client` is what asks.  These import the standard library alone.
"""
