"""What a page about a kernel shows beyond its result: Tile IR, obligations one by one, drawings of footprints."""
