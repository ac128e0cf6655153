"""A board over HTTP: the names of `Board`, `Agent` and `Tasks`, answered by the API of a server."""
