"""An agent in Python: the tool is a guarded function, the model is a script.

The program gives a run up that takes too long, plans anew, and repeats the write in other words.
"""

import concurrent.futures
import json
import os
import sys

from onceward import Client, guard

client = Client(os.environ["ONCEWARD_URL"])
event = {"source": "complaints", "event_id": os.environ["EVENT"]}  # what the program knows and the model does not


@guard(client, "tickets.create", context=event)
def create_ticket(subject: str) -> str:
    """Open a support ticket."""


def model(plan: str):
    """A scripted model: one call of the tool, in the words of the plan."""
    return "create_ticket", {"subject": plan}


def run(plan: str) -> str:
    name, arguments = model(plan)
    return {"create_ticket": create_ticket}[name](**arguments)


said = []
pool = concurrent.futures.ThreadPoolExecutor()
for plan, patience in (("Refund for a broken lamp", 0.7), ("Broken lamp: refund wanted", 30), ("Lamp arrived broken", 30)):
    try:
        said.append(json.loads(pool.submit(run, plan).result(timeout=patience)))
    except (concurrent.futures.TimeoutError, TimeoutError):
        said.append({"status": "timed_out"})
print(json.dumps({"said": said}))
sys.stdout.flush()
os._exit(0)  # the first run may still wait for its answer
