"""What the assembler made of proved bytecode: its PTX read, executed on small launches, and held against Tile IR.

`assembler` keeps the PTX from which a cubin comes; `ptx` reads it; `machine` executes it, thread by thread, and logs
what every thread touches.  `beside_bytecode` holds bytes, order and values against the interpreter's launch, with
`thread_races`, what no barrier orders; `cubin_look` does so in a few small launches of a contract.  Nothing here reads
what the prover thought.
"""
