"""Ctrl-C and SIGTERM end what runs, wherever they meet it."""

import signal
import sys

__all__ = ["interrupt_on_termination"]

AGAIN_SECONDS = 0.05
"""After which an interruption that was swallowed comes again."""


def interrupt_on_termination(*, once: bool = False) -> None:
    """Let SIGTERM do what Ctrl-C does: results are kept, and simulators do not outlive us.

    An interruption that meets the program in a callback of a C library (numba compiles in some) is
    printed by the interpreter and forgotten; here it comes again a little later instead.

    Parameters
    ----------
    once
        Further SIGTERMs are ignored, so that they do not interrupt the clearing up.
    """

    def interrupt(number: int, _frame: object) -> None:
        if once and number == signal.SIGTERM:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    print_ignored = sys.unraisablehook

    def interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        else:
            print_ignored(unraisable)

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGALRM, interrupt)
    sys.unraisablehook = interrupt_again
