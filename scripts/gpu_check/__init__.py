"""What scripts/gpu-check does on a GPU node: by the standard library of Python 3.9 alone."""
