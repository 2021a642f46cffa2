"""`python -m synmt` is the `synmt` command."""

from synmt.cli.main import main

main()
