"""What was asked of the clocks, and whether somebody else has undone it since."""

from __future__ import annotations

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.nvml.settling import is_at
from gpoeo_env.records import Window

__all__ = ["Request"]


class Request:
    """The pair that was last locked; None = released.

    NVML has no getter for locks, so an undone lock shows in the clocks alone: they were there, they are not there any
    more, and the driver names no reason.
    """

    def __init__(self) -> None:
        """Start released."""
        self.pair: ClockPair | None = None
        self.is_undone = False
        self._was_honoured = False

    def make(self, pair: ClockPair | None) -> None:
        """Take what has just been set."""
        self.pair = pair
        self.is_undone = self._was_honoured = False

    def stands(self, pair: ClockPair | None) -> bool:
        """Tell whether setting a pair would change nothing."""
        return pair == self.pair and not self.is_undone

    def undo(self) -> bool:
        """Take note that the clocks were given back; return whether that is news."""
        is_news = self.pair is not None and not self.is_undone
        self.is_undone = self.is_undone or is_news
        return is_news

    def is_undone_in(self, window: Window, sm_mhz: float, mem_mhz: float) -> bool:
        """Look at the clocks in the end of a window, and return whether they show that the lock is gone."""
        if self.pair is None or window.observed is None:
            return False
        if is_at(self.pair, sm_mhz, mem_mhz):
            self._was_honoured = True
        elif self._was_honoured and not window.throttle_reasons:
            return self.undo()
        return False
