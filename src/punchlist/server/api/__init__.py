"""The API under `/api/v1`: `table` has its routes, `routing` answers them, `calls` is one request."""
