"""What every contract shares: clauses that are run one by one, and a report of all that are broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["check_clauses", "require"]


def check_clauses(what: str, clauses: Mapping[str, Callable[[], None]]) -> None:
    """Run every clause, also those after a broken one.

    Args:
        what: who keeps the contract ("device", "policy").
        clauses: by name; each raises where it is broken.

    Raises:
        AssertionError: names every broken clause and how it showed.
    """
    broken = []
    for name, run in clauses.items():
        try:
            run()
        except Exception as error:
            broken.append(f"{name}: {type(error).__name__}: {error}")
    if broken:
        raise AssertionError(f"the {what} breaks its contract:\n" + "\n".join(broken))


def require(holds: bool, otherwise: str) -> None:
    """Say what is broken; unlike a bare ``assert``, also under ``python -O``.

    Raises:
        AssertionError: it does not hold.
    """
    if not holds:
        raise AssertionError(otherwise)
