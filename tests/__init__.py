"""The laws of synmt; the folders mirror synmt/."""
