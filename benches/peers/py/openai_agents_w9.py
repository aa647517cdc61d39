"""python openai_agents_w9.py w9 [N]: the OpenAI Agents SDK with a model that answers at once. An iteration is a completion that asks
for a tool, and the tool; there is nobody who judges, so this is less work than W9. Nothing is kept.
"""
import asyncio
import json
import sys

from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from measure import Report, timed

REPORT = Report("openai-agents", sys.argv[1])
ROUNDS = 50
RUNS = max(1, int(float(sys.argv[2])) // ROUNDS) if len(sys.argv) > 2 else 4


class Stub(Model):
    """Asks for the tool fifty times, then says that it is done."""

    def __init__(self):
        self.asked = 0

    async def get_response(self, *_arguments, **_named):
        i, self.asked = self.asked, self.asked + 1
        if i < ROUNDS:
            said = ResponseFunctionToolCall(type="function_call", id=f"f{i}", call_id=f"c{i}", name="double",
                                            arguments=json.dumps({"number": i}))
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            said = ResponseOutputMessage(type="message", id="end", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_arguments, **_named):
        raise NotImplementedError


LOG = []


@function_tool
def double(number: int) -> int:
    LOG.append(number * 2)
    return number * 2


async def play():
    LOG.clear()
    agent = Agent(name="worker", instructions="Work.", model=Stub(), tools=[double])
    result = await Runner.run(agent, "go", max_turns=ROUNDS + 1, run_config=RunConfig(tracing_disabled=True))
    REPORT.check("rounds, last of the log, end", (len(LOG), LOG[-1], result.final_output),
                 (ROUNDS, 2 * (ROUNDS - 1), "done"))


async def many(runs):
    for _ in range(runs):
        await play()


asyncio.run(many(1))
REPORT.each("us_per_iteration", "us", 1e3, timed(lambda: asyncio.run(many(RUNS))), RUNS * ROUNDS)
