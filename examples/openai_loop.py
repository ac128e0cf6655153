"""An agent with OpenAI's client. It wants to stop while an item is open, and is asked once to continue."""

import json

from stand_in import OpenAI  # for a real model: from openai import OpenAI

from punchlist import Board

YEARS = {"Mars": "687 days", "Venus": "225 days"}
LOOKUP = {
    "name": "lookup",
    "description": "Return the length of a planet's year.",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}

with Board.open("memory:") as board:
    client = OpenAI()
    agent = board.agent("main", session="planets")
    todo = [{"name": t.name, "description": t.description, "parameters": t.input_schema} for t in agent.tools]
    tools = [{"type": "function", "function": function} for function in (LOOKUP, *todo)]
    messages = [{"role": "user", "content": "How long are the years of Mars and Venus? Compare them."}]
    notes = []  # from Punchlist, for the next request only
    agent.user_turn()
    while True:
        tail = [{"role": "user", "content": note.text} for note in notes]
        answer = client.chat.completions.create(model="gpt-5", messages=messages + tail, tools=tools)
        message = answer.choices[0].message
        messages.append(message)
        calls = message.tool_calls or []
        notes = agent.assistant_turn([call.function.name for call in calls])
        if not calls:
            print("model:", message.content)
            if (more := agent.about_to_stop(message.content)) is None:
                break
            print("Punchlist asks it to continue.")
            notes.append(more)
        for call in calls:
            arguments = json.loads(call.function.arguments)
            if call.function.name == "lookup":
                agent.tool_started(call.id, "lookup", arguments)
                text = YEARS.get(arguments["name"], "unknown")
                agent.tool_finished(call.id, text, is_error=text == "unknown")
            else:
                text = agent.call(call.function.name, arguments, call_id=call.id).text
                print("list:", text.replace("\n", " "))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    print("list:", agent.todos.progress)
