"""ClusterPatterns of sources and sinks: when something is offered or taken."""

ALWAYS = (1 << 64) - 1
"""The pattern of a source or sink that is never idle."""
