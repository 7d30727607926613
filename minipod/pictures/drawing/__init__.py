"""What pictures are drawn with: SVG, Graphviz, grids, lanes, axes, and the phrases they are told in."""
