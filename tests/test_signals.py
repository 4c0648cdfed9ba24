from __future__ import annotations

from gpoeo_env.signals import CANONICAL, WORK, Behaviour, signal_named


def test_canonical_signals_are_found_by_their_name() -> None:
    assert [signal_named(signal.name) for signal in CANONICAL] == list(CANONICAL)
    assert signal_named("work") is WORK


def test_an_unknown_signal_is_a_mean_of_unknown_unit() -> None:
    signal = signal_named("l2_hit_rate")
    assert (signal.name, signal.unit, signal.behaviour) == ("l2_hit_rate", "?", Behaviour.INTERVAL)


def test_names_of_canonical_signals_are_unique() -> None:
    assert len({signal.name for signal in CANONICAL}) == len(CANONICAL)
