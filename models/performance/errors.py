"""The errors that the performance model raises for a user to read."""

from recspeed.models.spec.toml import SpecificationError

__all__ = ["DoesNotFitError", "SpecificationError"]


class DoesNotFitError(SpecificationError):
    """A model that is larger than the memory that is to hold it."""
