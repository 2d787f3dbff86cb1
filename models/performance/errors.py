"""The errors that the performance model raises for a user to read."""


class SpecificationError(ValueError):
    """A workload, system, placement or schedule that cannot be: says what, where and why."""


class DoesNotFitError(SpecificationError):
    """A model that is larger than the memory that is to hold it."""
