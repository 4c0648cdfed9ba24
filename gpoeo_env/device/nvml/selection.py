"""Which GPU is meant: a number, a UUID or its beginning, ``all``, a list, and what CUDA_VISIBLE_DEVICES leaves of it.

A number counts as a training process counts: within CUDA_VISIBLE_DEVICES where that is set, else as ``nvidia-smi``
does. What cannot be resolved to exactly one GPU is an error; another GPU is never taken instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpoeo_env.device.nvml.gpu import GpuFacts
from gpoeo_env.errors import UnknownNameError, UsageError, repeated

__all__ = ["VISIBLE", "selected", "visible"]

VISIBLE = "CUDA_VISIBLE_DEVICES"
ORDER = "CUDA_DEVICE_ORDER"
ALL = "all"


def selected(gpus: Sequence[GpuFacts], wanted: str | None, environ: Mapping[str, str]) -> tuple[GpuFacts, ...]:
    """Return the GPUs that a request names, in its order.

    Args:
        gpus: of this machine, in NVML's order.
        wanted: numbers, UUIDs or their beginnings, separated by commas; ``all`` or None = every visible one.
        environ: environment of the training process.

    Raises:
        UsageError: a GPU is named twice, a beginning fits several, or the environment hides every GPU.
        UnknownNameError: there is no such GPU.
    """
    if wanted is None or wanted == ALL:
        return visible(gpus, environ)
    found = [_named(gpus, word.strip(), environ) for word in wanted.split(",")]
    return _without_repeats(found, f"GPUs {wanted!r}")


def visible(gpus: Sequence[GpuFacts], environ: Mapping[str, str]) -> tuple[GpuFacts, ...]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order; all where it is not set.

    As for CUDA, ``-1`` ends the list.

    Raises:
        UsageError: it hides every GPU, names one twice, names a MIG instance, or counts GPUs of several models whose
            order only CUDA knows.
        UnknownNameError: it names a GPU that is not there.
    """
    setting = environ.get(VISIBLE)
    if setting is None:
        return tuple(gpus)
    words = [word.strip() for word in setting.split(",")]
    if "-1" in words:
        words = words[: words.index("-1")]
    if not words or words == [""]:
        raise UsageError(f"{VISIBLE}={setting!r} hides every GPU; unset it, or name a GPU by its UUID")
    where = f"{VISIBLE}={setting!r}"
    found = [_by_ordinal(gpus, word, where, environ) if word.isdecimal() else _by_uuid(gpus, word) for word in words]
    return _without_repeats(found, where)


def _named(gpus: Sequence[GpuFacts], word: str, environ: Mapping[str, str]) -> GpuFacts:
    if not word.isdecimal():
        return _by_uuid(gpus, word)
    candidates = visible(gpus, environ)
    if int(word) >= len(candidates):
        raise UnknownNameError("GPU", word, [str(number) for number in range(len(candidates))])
    return candidates[int(word)]


def _by_ordinal(gpus: Sequence[GpuFacts], word: str, where: str, environ: Mapping[str, str]) -> GpuFacts:
    """Return a GPU by CUDA's number, which is NVML's where all are alike or CUDA counts by the bus."""
    if len({gpu.name for gpu in gpus}) > 1 and environ.get(ORDER) != "PCI_BUS_ID":
        raise UsageError(
            f"{where} counts GPUs of several models, the fastest first as CUDA sees it, so {word} is not certain; set "
            f"{ORDER}=PCI_BUS_ID, or name UUIDs"
        )
    if int(word) >= len(gpus):
        raise UnknownNameError(f"GPU of {where}", word, [str(gpu.index) for gpu in gpus])
    return gpus[int(word)]


def _by_uuid(gpus: Sequence[GpuFacts], word: str) -> GpuFacts:
    """Return the GPU whose UUID begins so; the ``GPU-`` may be left out."""
    if word.startswith("MIG-"):
        raise UsageError(f"{word} is a MIG instance: its clocks are those of the whole GPU; name the GPU instead")
    beginning = word if word.startswith("GPU-") else f"GPU-{word}"
    found = [gpu for gpu in gpus if gpu.uuid.startswith(beginning)]
    if not word or not found:
        raise UnknownNameError("GPU", word, [gpu.uuid for gpu in gpus])
    if len(found) > 1:
        raise UsageError(f"{word!r} fits {', '.join(gpu.uuid for gpu in found)}; write more of it")
    return found[0]


def _without_repeats(found: Sequence[GpuFacts], where: str) -> tuple[GpuFacts, ...]:
    twice = repeated(gpu.uuid for gpu in found)
    if twice:
        raise UsageError(f"{where} names {', '.join(twice)} twice; name each GPU once")
    return tuple(found)
