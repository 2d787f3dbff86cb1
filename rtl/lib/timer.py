"""A timer that forbids something for a number of clocks."""

from amaranth.hdl import Const, Module, Mux, Signal, Value

__all__ = ["Timer"]


class Timer:
    """A down-counter: set to n in clock t, `expired` is 0 through t + n - 1 and 1 from t + n on.

    Setting a running timer keeps the later end. Not a component but a pattern: its registers belong
    to the module that owns it.

    Parameters
    ----------
    limit : int
        The largest n.
    name : str
        Prefix of its signals.
    """

    def __init__(self, limit: int, name: str):
        self.count = Signal(range(max(limit, 2)), name=f"{name}_timer")
        self.expired = Signal(name=f"{name}_expired")
        self._settings: list[tuple[Value, int]] = []

    def set(self, when: Value, clocks: int) -> None:
        """Set the timer to `clocks` in every clock in which `when` is 1."""
        self._settings.append((when, clocks))

    def elaborate_into(self, m: Module) -> None:
        """Emit the counter into `m`, after the last `set`."""
        following = Signal.like(self.count, name=f"{self.count.name}_next")
        m.d.comb += [
            self.expired.eq(self.count == 0),
            following.eq(Mux(self.expired, 0, self.count - 1)),
        ]
        m.d.sync += self.count.eq(following)
        # Of several settings in one clock the last statement rules: the largest.
        for when, clocks in sorted(self._settings, key=lambda setting: setting[1]):
            if clocks <= 1:  # Over in the next clock, in which it could be seen first.
                continue
            later = Const(clocks - 1, self.count.shape())
            with m.If(when & (following < later)):
                m.d.sync += self.count.eq(later)
