"""The guard: whoever changes clocks gives them back, whatever happens to it.

    with Guard.open(actuator) as guard:      # one controller a GPU; what a dead one left is given back first
        guard.lock(ClockPair(1200, 5001))    # a watchdog runs, the journal is written, then the clocks change
        guard.release()                      # to the driver; so does leaving the block, an error or a signal

Three lines of defence, each for what gets past the one before:

1. the process itself: exit, error, SIGINT, SIGTERM and SIGHUP (`guard`, `exits`);
2. a watchdog process: SIGKILL, a crash, a controller that hangs or is suspended (`watchdog`, `watch`);
3. the journal on disk: both were killed; ``gpoeo restore``, or whoever opens that GPU next (`journal`, `stale`).

The order of steps keeps one promise: at no instant are clocks locked without a journal that says so. The modules
that the watchdog loads (`actuator`, `folder`, `journal`, `giving_back`, `lease`) need the standard library alone.
"""
