"""What each kernel computes, in NumPy and float64."""
