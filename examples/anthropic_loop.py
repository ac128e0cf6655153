"""An agent with Anthropic's client: it fixes a bug, and its list says what was really checked.

`bash` runs what the model says, in a temporary folder: with a real model, run this in a container.
"""

import subprocess
import tempfile
from pathlib import Path

from stand_in import Anthropic  # for a real model: from anthropic import Anthropic

from punchlist import Board, Conversation

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
    talk = Conversation(board, session="fix")
    messages = [{"role": "user", "content": "The total of a basket is wrong. Fix it."}]
    talk.person_spoke(messages[0]["content"])
    while True:
        notes = talk.for_request(messages)  # from Punchlist, for this request only
        answer = client.messages.create(
            model="claude-sonnet-5-5",
            max_tokens=4096,
            tools=[BASH, *talk.tools("anthropic")],
            messages=messages + [{"role": "user", "content": note.text} for note in notes],
        )
        messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        talk.model_answered([call.name for call in calls], [call.id for call in calls])
        said = "".join(block.text for block in answer.content if block.type == "text")
        if not calls and (more := talk.keep_going(said)) is None:
            break
        results = []
        for call in calls:
            if talk.is_own(call.name):
                text = talk.call(call.name, call.input, call.id).text
                print(" · ".join(f"{item.content}: {item.grade or item.status}" for item in talk.todos.items))
            else:
                with talk.tool(call.id, call.name, call.input) as outcome:
                    outcome.exit_code, text = subprocess.getstatusoutput(f"cd {folder} && {call.input['command']}")
                    outcome.result = text
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": text})
        messages.append({"role": "user", "content": results or more})
    talk.agent.finished(said)
    print(said)
    print("The session is", board.report(session="fix").state)
