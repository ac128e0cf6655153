# The server of a team's board, behind a proxy that speaks TLS: docs/team.md says how it is run.
FROM python:3.13-slim
RUN pip install --no-cache-dir "punchlist[mcp,postgres]" \
 && useradd --create-home --uid 10001 punchlist \
 && install --directory --owner=punchlist --mode=0700 /data
USER punchlist
ENV PUNCHLIST_DB=/data/board.db
VOLUME /data
EXPOSE 8137
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8137/healthz', timeout=5)"]
ENTRYPOINT ["punchlist"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8137", "--no-tls", "--no-watch", "--no-link"]
