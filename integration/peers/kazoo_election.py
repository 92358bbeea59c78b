"""Stands in kazoo's elections by command. The commands are in election.go."""

import sys
import threading
import time
import traceback

from kazoo.client import KazooClient

printing = threading.Lock()


def now():
    """CLOCK_MONOTONIC."""
    return time.monotonic_ns()


def say(event, name, token=0, start=None, end=0, text=""):
    with printing:
        print(event, name, token, now() if start is None else start, end, text, flush=True)


class Candidate(threading.Thread):
    """Leads until it is told to stop."""

    def __init__(self, client, path, name):
        super().__init__(daemon=True)
        self.name_ = name
        self.election = client.Election(path, name)
        self.over = threading.Event()
        self.start()

    def run(self):
        try:
            self.election.run(self.lead)
        except Exception:
            traceback.print_exc()
            say("failed", self.name_)

    def lead(self):
        say("held", self.name_)
        self.over.wait()

    def resign(self):
        before = now()
        self.over.set()
        self.join()
        say("released", self.name_, 0, before, now())


def main():
    client = KazooClient(hosts=sys.argv[1], timeout=int(sys.argv[2]) / 1000)
    client.start(timeout=30)
    say("ready", "-", client.client_id[0])
    candidates = {}
    for line in sys.stdin:
        verb, name, *rest = line.split()
        if verb == "lead":
            candidates[name] = Candidate(client, rest[0], name)
        elif verb == "release":
            candidates.pop(name).resign()
        elif verb == "leader":
            say("leader", name, 0, None, 0, client.Election(rest[0]).contenders()[0])
        elif verb == "participants":
            say("participants", name, 0, None, 0, ",".join(client.Election(rest[0]).contenders()))
        else:
            say("failed", name)
    client.stop()
    client.close()


main()
