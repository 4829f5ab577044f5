"""Every exception the package raises on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class PinnpointError(Exception):
    """Base class: ``except pinnpoint.PinnpointError`` catches every deliberate refusal."""


class InputError(PinnpointError, ValueError):
    """The input was refused; the message names the argument, what it got and what to do."""

    @property
    def argument(self) -> str:
        """The name that the message begins with."""
        text = str(self)
        end = next((i for i, c in enumerate(text) if not (c.isalnum() or c == "_")), len(text))
        return text[:end]

    def about(self, name: str) -> InputError:
        """The same refusal of an argument that whoever gave it calls by another name."""
        return InputError(name + str(self).removeprefix(self.argument))


class SingularError(InputError):
    """A matrix has no inverse in float64."""


class CertificationError(PinnpointError, RuntimeError):
    """The input is fine, but a bound that the certificate needs could not be proved."""


class DependencyMissingError(PinnpointError, ImportError):
    """An optional package is needed; the message names the extra that brings it."""


def shortage(error: MemoryError) -> str:
    """What to say when memory ran out."""
    what = f" ({error})" if str(error) else ""
    return f"pinnpoint: not enough memory{what}; make the case smaller ('pinnpoint check' says what it needs)"


@contextmanager
def in_words(words: Mapping[str, str]) -> Iterator[None]:
    """Refusals in the words of whoever gave the input: an argument that a message begins with is called by its own."""
    try:
        yield
    except InputError as error:
        if error.argument in words:
            raise error.about(words[error.argument]) from error
        raise
