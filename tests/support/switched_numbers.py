"""Numbers that a design is made from, of which a fault has another one."""

import operator
from collections.abc import Callable, Iterator

from amaranth.hdl import Const, Mux, Value, ValueCastable


class NotSwitchableError(Exception):
    """What a fault changes cannot be chosen while the hardware runs; its number is the argument."""


class Choice(ValueCastable):
    """A number, and the ones that stand in its place under some faults.

    It calculates like a number with numbers, and is a multiplexer where it meets hardware. What
    would decide the shape of the hardware (a condition, a size) it refuses, unless all agree.

    Parameters
    ----------
    is_picked : function of a fault's number
    right : int
    broken : dict of fault number to int
    """

    def __init__(self, is_picked: Callable[[int], Value], right: int, broken: dict[int, int]):
        self.is_picked = is_picked
        self.right = right
        self.broken = broken

    @classmethod
    def of(cls, is_picked: Callable[[int], Value], right, fault: int, broken):
        """`right` but `broken` under that fault; either may be a choice, by other faults."""
        if isinstance(broken, Choice):
            broken = broken.broken.get(fault, broken.right)
        others = {}
        if isinstance(right, Choice):
            right, others = right.right, right.broken
        return cls(is_picked, right, {**others, fault: broken})

    @property
    def largest(self) -> int:
        """For registers that must hold any of them."""
        return max(self.right, *self.broken.values())

    def cases(self) -> Iterator[tuple[Value, int]]:
        """`(condition, number)`: exactly one condition is 1."""
        none = Const(1)
        for fault, value in self.broken.items():
            picked = self.is_picked(fault)
            none = none & ~picked
            yield picked, value
        yield none, self.right

    def as_value(self) -> Value:
        value: Value = Value.cast(int(self.right))
        for fault, broken in self.broken.items():
            value = Mux(self.is_picked(fault), int(broken), value)
        return value

    def shape(self):
        return self.as_value().shape()

    def agreed(self):
        """The number, where all are equal."""
        for fault, value in self.broken.items():
            if value != self.right:
                raise NotSwitchableError(fault)
        return self.right

    def __bool__(self) -> bool:
        for fault, value in self.broken.items():
            if bool(value) != bool(self.right):
                raise NotSwitchableError(fault)
        return bool(self.right)

    def __index__(self) -> int:
        return self.agreed()

    def __hash__(self) -> int:
        return id(self)


def _calculate(operation: Callable) -> Callable:
    def method(self: Choice, other):
        if isinstance(other, Value) or (
            isinstance(other, ValueCastable) and not isinstance(other, Choice)
        ):
            return operation(self.as_value(), Value.cast(other))
        theirs = other.broken if isinstance(other, Choice) else {}
        right = other.right if isinstance(other, Choice) else other
        broken = {
            fault: operation(self.broken.get(fault, self.right), theirs.get(fault, right))
            for fault in {**self.broken, **theirs}
        }
        return Choice(self.is_picked, operation(self.right, right), broken)

    return method


def _reflected(operation: Callable) -> Callable:
    def method(self: Choice, other):
        return _calculate(lambda mine, their: operation(their, mine))(self, other)

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor"):
    _operation = getattr(operator, f"__{_name}__")
    setattr(Choice, f"__{_name}__", _calculate(_operation))
    setattr(Choice, f"__r{_name}__", _reflected(_operation))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Choice, f"__{_name}__", _calculate(getattr(operator, f"__{_name}__")))
for _name in ("neg", "invert", "abs"):
    _operation = getattr(operator, f"__{_name}__")
    setattr(
        Choice,
        f"__{_name}__",
        lambda self, operation=_operation: Choice(
            self.is_picked,
            operation(self.right),
            {fault: operation(value) for fault, value in self.broken.items()},
        ),
    )


def largest(*numbers, **named):
    """`max`, also of choices: then one of the largest under each fault."""
    found = list(numbers[0] if len(numbers) == 1 else numbers)
    choices = [number for number in found if isinstance(number, Choice)]
    if not choices:
        return max(found, **named)
    assert not named

    def under(fault: int) -> int:
        return max(
            one.broken.get(fault, one.right) if isinstance(one, Choice) else one for one in found
        )

    faults = {fault for choice in choices for fault in choice.broken}
    right = max(one.right if isinstance(one, Choice) else one for one in found)
    return Choice(choices[0].is_picked, right, {fault: under(fault) for fault in faults})
