"""The contracts of a store: test classes that every engine has to pass."""
