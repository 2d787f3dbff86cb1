"""Distances read from the timing table are those of the preset."""

import pytest

from recspeed.models.spec.memory import memory_preset, memory_preset_names
from recspeed.models.spec.timing import distance, timing_rules


@pytest.mark.parametrize("name", memory_preset_names())
def test_the_largest_of_the_rules_between_two_commands(name):
    preset = memory_preset(name)
    rules, t = timing_rules(preset), preset.clocks
    assert distance(rules, "bank", "ACT", "ACT") == max(t.tRC, t.tRAS + t.tRP)
    assert distance(rules, "bank", "RDA", "ACT") == t.tRTP + t.tRP
    assert distance(rules, "bank", "WRA", "ACT") == preset.write_to_precharge + t.tRP
    assert distance(rules, "bank", "ACT", "WR") == t.tRCD_WR
    assert distance(rules, "bank", "REFPB", "ACT") == t.tRFCpb
    assert distance(rules, "rank", "ACT", "ACT") == t.tRRD_S
    assert distance(rules, "rank", "ACT", "ACT", window=4) == t.tFAW
    assert distance(rules, "rank", "WR", "RD") == preset.write_to_read(same_group=False)
    assert distance(rules, "bank_group", "WR", "RD") == preset.write_to_read(same_group=True)
    assert distance(rules, "rank", "RD", "WR") == preset.read_to_write
    assert distance(rules, "other_stack", "RD", "RD") == t.tCCD_R
    for before in (False, True):
        for after in (False, True):
            commands = ("WR" if before else "RD", "WR" if after else "RD")
            expected = preset.rank_switch(write_before=before, write_after=after)
            ranks = preset.organization.ranks
            assert distance(rules, "other_rank", *commands) == (expected if ranks > 1 else 0)


def test_a_distance_that_no_rule_asks_for():
    assert distance(timing_rules(memory_preset("hbm2-2000")), "bank", "RD", "RD") == 0
