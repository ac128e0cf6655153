"""An agent with Anthropic's client: it fixes a bug, and its list says what was really checked.

`bash` runs what the model says, in a temporary folder: with a real model, run this in a container.
"""

import subprocess
import tempfile
from pathlib import Path

from stand_in import Anthropic  # for a real model: from anthropic import Anthropic

from punchlist import Board

BASH = {
    "name": "bash",
    "description": "Run a shell command in the project.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}
TEST = "import unittest, shop\nclass Test(unittest.TestCase):\n def test(self): self.assertEqual(shop.total([2, 3]), 5)"

with Board.open("memory:") as board, tempfile.TemporaryDirectory() as folder:
    Path(folder, "shop.py").write_text("def total(prices): return sum(prices[:-1])")
    Path(folder, "test_shop.py").write_text(TEST)
    client = Anthropic()
    agent = board.agent("main", session="fix")
    todo = [{"name": t.name, "description": t.description, "input_schema": t.input_schema} for t in agent.tools]
    messages = [{"role": "user", "content": "The total of a basket is wrong. Fix it."}]
    notes = []  # from Punchlist, for the next request only
    agent.user_turn()
    while True:
        answer = client.messages.create(
            model="claude-sonnet-5-5",
            max_tokens=4096,
            tools=[BASH, *todo],
            messages=messages + [{"role": "user", "content": note.text} for note in notes],
        )
        messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        notes = agent.assistant_turn([call.name for call in calls])
        if not calls:
            said = "".join(block.text for block in answer.content if block.type == "text")
            if (more := agent.about_to_stop(said)) is None:
                break
            notes.append(more)
            continue
        results = []
        for call in calls:
            if call.name == "bash":
                agent.tool_started(call.id, "bash", call.input)
                code, text = subprocess.getstatusoutput(f"cd {folder} && {call.input['command']}")
                agent.tool_finished(call.id, text, exit_code=code)
            else:
                text = agent.call(call.name, call.input, call_id=call.id).text
                print(" · ".join(f"{item.content}: {item.grade or item.status}" for item in agent.todos.items))
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": text})
        messages.append({"role": "user", "content": results})
    print(said)
    print("The session is", board.report(session="fix").state)
