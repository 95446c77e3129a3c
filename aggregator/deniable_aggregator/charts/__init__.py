"""Pictures of answers: a figure is data (`figure`), and is drawn as SVG, page, image or Vega-Lite.

`figure_of` makes it from an answer, `files.save` writes it. Images alone need the extra ``charts``.
"""
