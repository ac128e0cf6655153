# The server of a team's board, behind a proxy that speaks TLS: docs/team.md says how it is run.
FROM python:3.13-slim
COPY pyproject.toml README.md LICENSE /build/
COPY tools /build/tools
COPY src /build/src
RUN pip install --no-cache-dir "/build[mcp,postgres]" && useradd --create-home --uid 10001 punchlist && install -d -o punchlist -m 0700 /data
USER 10001
ENV PUNCHLIST_DB=/data/board.db
VOLUME /data
EXPOSE 8137
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8137/healthz', timeout=5)"]
ENTRYPOINT ["punchlist"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8137", "--no-tls", "--no-watch", "--no-link"]
