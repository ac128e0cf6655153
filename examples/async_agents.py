"""Three agents on one event loop: a lead starts two subagents, which work at the same time, each on its own list."""

import asyncio

from stand_in import AsyncAnthropic  # for a real model: from anthropic import AsyncAnthropic

from punchlist.aio import Board

SCRIPTS = {  # of the stand-in: what each model answers
    "docs": [[("todo", {"set": ["Write the page", "Check its links"]})], [("todo", {"done": ["1", "2"]})], ["Done."]],
    "tests": [[("todo", {"set": ["Write a test", "Run it"]})], [("todo", {"done": "1"})], ["It does not run yet."]],
}


async def work(agent, request):
    """Run one agent until its model makes no more calls."""
    client = AsyncAnthropic(SCRIPTS[agent.name])  # for a real model: AsyncAnthropic()
    tools = [{"name": t.name, "description": t.description, "input_schema": t.input_schema} for t in agent.tools]
    messages = [{"role": "user", "content": request}]
    while True:
        answer = await client.messages.create(
            model="claude-sonnet-5-5", max_tokens=4096, tools=tools, messages=messages
        )
        messages.append({"role": "assistant", "content": answer.content})
        results = []
        for call in answer.content:
            if call.type == "tool_use":
                reply = await agent.call(call.name, call.input, call_id=call.id)
                results.append({"type": "tool_result", "tool_use_id": call.id, "content": reply.text})
        if not results:
            break
        messages.append({"role": "user", "content": results})
    done = (await agent.todos).is_finished
    await agent.finished(answer.content[0].text, outcome="completed" if done else "failed")


async def main():
    async with Board.open("memory:") as board:
        lead = board.agent("lead", session="release", complete_by_subagents=True)
        await lead.call("todo", {"set": ["Write the docs", "Write the tests"]})
        docs = await lead.spawn("docs", label="Write the docs")
        tests = await lead.spawn("tests", label="Write the tests")
        await asyncio.gather(work(docs, "Document the export."), work(tests, "Test the export."))
        for agent in (lead, docs, tests):
            todos = await agent.todos
            print(agent.name, [f"{item.content}: {item.status}" for item in todos.items])


asyncio.run(main())
