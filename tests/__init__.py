"""Tests of synmt; the folders mirror synmt/."""
