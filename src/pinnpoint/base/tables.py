"""Tables that cannot be written into, and that can be copied and pickled."""

from __future__ import annotations

from typing import Any, NoReturn


class ReadOnly(dict[str, Any]):
    """A dict as it was made."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this table cannot be written into; make a dict of it, and another object from that")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[type[ReadOnly], tuple[dict[str, Any]]]:
        return type(self), (dict(self),)
