"""Each module here needs one framework, which is in an environment of its own: `make test-adapters`."""

from importlib.util import find_spec

FRAMEWORKS = {
    "test_agent_framework.py": "agent_framework",
    "test_claude_sdk.py": "claude_agent_sdk",
    "test_langchain.py": "langchain",
    "test_langchain_upstream.py": "langchain",
    "test_openai_agents.py": "agents",
    "test_pydantic_ai.py": "pydantic_ai",
}
collect_ignore = [module for module, framework in FRAMEWORKS.items() if find_spec(framework) is None]
