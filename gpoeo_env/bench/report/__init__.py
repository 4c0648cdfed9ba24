"""Results as one self-contained page, and as TensorBoard scalars.

    page = render_page(load_results(folder))

`standings` computes the figures, `charts` and `tables` show them, `replayed` runs an episode again to show it window by
window, `page` puts it all together. The page asks no network for anything and is complete without scripts; these sort,
pick and step.
"""
