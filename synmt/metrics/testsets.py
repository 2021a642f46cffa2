"""sacreBLEU's own test sets, by names such as sacrebleu:wmt17/en-de."""

from collections.abc import Sequence

from synmt.streams import BadInput, WrongUsage

PREFIX = "sacrebleu:"


def reference_files(names: Sequence[str]) -> tuple[str, ...]:
    """Return the files, with the names of test sets replaced by their files. Raises as `files_of_set`."""
    return tuple(file for name in names for file in (files_of_set(name)[1] if name.startswith(PREFIX) else [name]))


def source_file(name: str | None) -> str | None:
    """Return the file, or the source file of a test set. Raises as `files_of_set`."""
    return files_of_set(name)[0] if name and name.startswith(PREFIX) else name


def files_of_set(name: str) -> tuple[str, list[str]]:
    """Return the source file and the reference files of a test set, such as sacrebleu:wmt14/full/en-de.

    sacreBLEU downloads each set once. Raises WrongUsage for an unknown name, and BadInput if the download fails.
    """
    from sacrebleu.dataset import DATASETS
    from sacrebleu.utils import get_reference_files, get_source_file

    test_set, _, languages = name.removeprefix(PREFIX).rpartition("/")
    if test_set not in DATASETS:
        raise WrongUsage(f"{name}: sacreBLEU has no test set {test_set!r}, only {', '.join(sorted(DATASETS)):.200}, …")
    if languages not in DATASETS[test_set].langpairs:
        raise WrongUsage(f"{name}: the language pairs of {test_set} are {', '.join(DATASETS[test_set].langpairs)}")
    try:
        return get_source_file(test_set, languages), get_reference_files(test_set, languages)
    except Exception as error:  # the network, archives and format readers raise many kinds of errors
        raise BadInput(f"sacreBLEU cannot download it: {error}", name) from None
