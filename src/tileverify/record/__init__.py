"""``tileverify record``: write down every ``cuda.tile`` launch of a program as bytecode and launch specs."""
