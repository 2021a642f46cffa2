"""Tests of scores, many compared with sacreBLEU."""
