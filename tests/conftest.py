"""Settings of every test."""

from hypothesis import settings

# Timings are never asserted: the first example of a test may compile its kernels. A failure prints
# the blob that reproduces it.
settings.register_profile("recspeed", deadline=None, print_blob=True)
settings.load_profile("recspeed")
