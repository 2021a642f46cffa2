"""The last import of the process from which all others are forked. Its memory is now complete."""

from tests.cli.warm import use_huge_pages

use_huge_pages()
