"""Training on the threads of this machine, compiled by Numba."""
