"""JEDEC's distances once more, pair by pair in plain Python: what the checker must find."""

import numpy as np

from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import Rule


def same_scope(preset: MemoryPreset, rule: Rule, one: int, other: int) -> bool:
    """Whether commands to two flat banks meet in the scope of `rule`."""
    org = preset.organization
    # Stack IDs are counted over all ranks, so that equal ones are of one rank.
    stack_one, stack_other = (
        bank // org.bank_groups // org.banks_per_group for bank in (one, other)
    )
    same_rank = stack_one // org.stack_ids == stack_other // org.stack_ids
    groups = (one % org.bank_groups, other % org.bank_groups)
    return {
        "channel": True,
        "bank": one == other,
        "bank_group": stack_one == stack_other and groups[0] == groups[1],
        "other_stack": same_rank and stack_one != stack_other,
        "rank": same_rank,
        "other_rank": not same_rank,
    }[rule.scope]


def pairs(preset: MemoryPreset, log: np.ndarray, rule: Rule) -> list[tuple[int, int]]:
    """`(previous, next)` places in the log between which `rule` rules."""
    names = [CommandCode(int(code)).name for code in log["command"]]
    banks = log["bank"].tolist()
    found = []
    for place, name in enumerate(names):
        if name not in rule.next:
            continue
        seen = 0
        for before in range(place - 1, -1, -1):
            if names[before] in rule.previous and same_scope(
                preset, rule, banks[before], banks[place]
            ):
                seen += 1
                if seen == rule.window:
                    found.append((before, place))
                    break
    return found
