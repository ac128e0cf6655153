"""An agent with OpenAI's client. It wants to stop while an item is open, and is asked once to continue."""

import json

from stand_in import OpenAI  # for a real model: from openai import OpenAI

from punchlist import Board, Conversation

YEARS = {"Mars": "687 days", "Venus": "225 days"}
LOOKUP = {
    "name": "lookup",
    "description": "Return the length of a planet's year.",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}

with Board.open("memory:") as board:
    client = OpenAI()
    talk = Conversation(board, session="planets")
    tools = [{"type": "function", "function": LOOKUP}, *talk.tools("openai")]
    messages = [{"role": "user", "content": "How long are the years of Mars and Venus? Compare them."}]
    talk.person_spoke(messages[0]["content"])
    while True:
        notes = [{"role": "user", "content": note.text} for note in talk.for_request(messages)]  # for this request only
        answer = client.chat.completions.create(model="gpt-5", messages=messages + notes, tools=tools)
        message = answer.choices[0].message
        messages.append(message)
        calls = message.tool_calls or []
        talk.model_answered([call.function.name for call in calls], [call.id for call in calls])
        if not calls:
            print("model:", message.content)
            if (more := talk.keep_going(message.content)) is None:
                break
            print("Punchlist asks it to continue.")
            messages.append({"role": "user", "content": more})
        for call in calls:
            name, arguments = call.function.name, json.loads(call.function.arguments)
            if talk.is_own(name):
                text = talk.call(name, arguments, call.id).text
                print("list:", text.replace("\n", " "))
            else:
                with talk.tool(call.id, name, arguments) as outcome:
                    outcome.result = text = YEARS.get(arguments["name"], "unknown")
                    outcome.is_error = text == "unknown"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    talk.agent.finished()
    print("list:", talk.agent.todos.progress)
