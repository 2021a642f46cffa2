"""Scores, against sacreBLEU itself."""
