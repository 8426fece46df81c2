"""A machine for PTX: all threads of all blocks of a small launch at once, each register one NumPy array."""
