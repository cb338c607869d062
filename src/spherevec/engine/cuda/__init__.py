"""Training on an NVIDIA GPU, through CuPy."""
