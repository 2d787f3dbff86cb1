"""Parameters of links and of the systems that they are in."""

import pytest
from pydantic import ValidationError

from recspeed.models.spec.collective import CollectiveParameters
from recspeed.models.spec.link import LinkParameters


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"replay_depth": 100}, "replay_depth must be a power of two (got 100)"),
        ({"receive_depth": 128}, "receive_depth must cover a round trip of 129 clocks"),
        ({"sequence_bits": 8}, "replay_depth must be at most half the sequence numbers, 128"),
        ({"lanes": 3}, "Extra inputs are not permitted"),
    ],
)
def test_link_parameters_are_checked(changes, text):
    values = {"latency": 60, "replay_depth": 256, "receive_depth": 256, **changes}
    with pytest.raises(ValidationError) as error:
        LinkParameters(**values)
    assert text in str(error.value)


def test_depths_from_both_sides():
    """One flit of depth too few is refused, the exact need is accepted."""
    need = {"replay_depth": 256, "receive_depth": 256, "report_interval": 96}
    assert LinkParameters(latency=75, **need).round_trip + 96 == 255
    with pytest.raises(ValidationError, match="at least 257 flits"):
        LinkParameters(latency=76, **need)


def test_presets():
    parameters = CollectiveParameters(chips=16)
    assert parameters.clock_gigahertz == pytest.approx(1000 / 15 / 68)
    assert parameters.latency == 59
    assert parameters.link.replay_depth == 256
    assert parameters.lane_gigabits_per_second == pytest.approx(66.667, abs=0.001)
    with pytest.raises(ValidationError, match="sequence numbers allow 2048"):
        CollectiveParameters(chips=2, latency_nanoseconds=70)
