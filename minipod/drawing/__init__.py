"""What pictures.py draws with: SVG, Graphviz, grids, and the reading of an array's layout."""
