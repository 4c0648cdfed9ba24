"""One action space and one observation for every clock table, so that one learned agent serves GPUs of any kind."""
