"""The language server: verdicts where kernels are written (`tileverify lsp`).

`server` speaks the protocol, `desk` keeps what is known of each document and has it checked (`asking`: by a worker),
`shown` turns results into what editors show, `actions` into what they offer.
"""
