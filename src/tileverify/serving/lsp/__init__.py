"""The language server: verdicts where kernels are written (`tileverify lsp`).

`language_server` speaks the protocol, `shown_sources` keeps what is known of each document and has it checked by a
worker, `shown` turns results into what editors show and offer.
"""
