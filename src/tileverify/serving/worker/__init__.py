"""A process that has everything loaded, and answers command lines as a new one would, in a fraction of the time.

`serving` loads and waits; for each request it forks a child, which becomes the asking process: its folder,
variables and streams.  So no module of a user outlives the request that ran it, and what is printed is printed by the
very code that prints it without a worker.  It says when it is out of date.
`client` is what asks: it knows who may ask whom, and compares what two processes may do.  It imports the standard
library alone.
"""
