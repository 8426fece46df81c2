"""What must be right for `proved` to be right: obligations, footprints, overlaps, the questions made of them."""
