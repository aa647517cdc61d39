"""python autogen_w9.py w9 [N]: three AutoGen agents and a selector, all with models that answer at once. An iteration is a message of
each, every one chosen by the selector. Nothing is kept.
"""
import asyncio
import logging
import sys

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import SelectorGroupChat
from autogen_ext.models.replay import ReplayChatCompletionClient

from measure import Report, timed

logging.disable(logging.CRITICAL)
REPORT = Report("autogen", sys.argv[1])
ROUNDS = 50
RUNS = max(1, int(float(sys.argv[2])) // ROUNDS) if len(sys.argv) > 2 else 2
NAMES = ["select", "execute", "evaluate"]
ANSWERS = {"select": lambda i: str(i), "execute": lambda i: str(2 * i), "evaluate": lambda i: "done"}


def agent(name):
    answers = [ANSWERS[name](i) for i in range(ROUNDS)]
    return AssistantAgent(name, model_client=ReplayChatCompletionClient(answers), description=name)


async def play():
    chosen = ReplayChatCompletionClient([NAMES[turn % 3] for turn in range(3 * ROUNDS)])
    # The task itself is a message too.
    end = MaxMessageTermination(1 + 3 * ROUNDS)
    team = SelectorGroupChat([agent(name) for name in NAMES], model_client=chosen, termination_condition=end,
                             allow_repeated_speaker=True)
    messages = (await team.run(task="go")).messages
    done = [message.content for message in messages if message.source == "execute"]
    REPORT.check("rounds, last of the log", (len(done), done[-1]), (ROUNDS, str(2 * (ROUNDS - 1))))


async def many(runs):
    for _ in range(runs):
        await play()


asyncio.run(many(1))
REPORT.each("us_per_iteration", "us", 1e3, timed(lambda: asyncio.run(many(RUNS))), RUNS * ROUNDS)
