"""Hash bytes without loading OpenSSL, as `hashlib` does: a fortieth of the time that a hook may take."""

from _blake2 import blake2b

__all__ = ["blake2b"]
