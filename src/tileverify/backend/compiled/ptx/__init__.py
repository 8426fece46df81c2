"""PTX as data: `ptx_reader` makes a `model.PtxModule` of text.  PTX ISA 9.x, as tileiras writes it."""
