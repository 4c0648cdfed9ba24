"""A site's own command: ``site_clocks.py lock-sm UUID LOW HIGH``, ``lock-memory UUID MHZ``, ``release-sm UUID``, ..."""

from __future__ import annotations

import sys

import pynvml


def main(action: str, uuid: str, *clocks: str) -> None:
    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    mhz = [int(clock) for clock in clocks]
    match action:
        case "lock-sm":
            pynvml.nvmlDeviceSetGpuLockedClocks(gpu, mhz[0], mhz[-1])
        case "lock-memory":
            pynvml.nvmlDeviceSetMemoryLockedClocks(gpu, mhz[0], mhz[-1])
        case "release-sm":
            pynvml.nvmlDeviceResetGpuLockedClocks(gpu)
        case "release-memory":
            pynvml.nvmlDeviceResetMemoryLockedClocks(gpu)


if __name__ == "__main__":
    main(*sys.argv[1:])
