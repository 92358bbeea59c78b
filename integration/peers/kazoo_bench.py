"""Runs the cases of integration/bench with kazoo. The commands are in its internal/contestant."""

import json
import queue
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient

NONE = "nothing of the kind"


def open_session(addr):
    client = KazooClient(hosts=addr, timeout=int(sys.argv[1]) / 1000)
    client.start(timeout=60)
    return client


def close_session(client):
    client.stop()
    client.close()


class Locks:
    """A lock that is acquired and released around something."""

    def __init__(self, lock):
        self.lock = lock

    def turn(self, body):
        self.lock.acquire()
        body()
        self.lock.release()


class Elections:
    """An election that is won around something."""

    def __init__(self, election):
        self.election = election

    def turn(self, body):
        self.election.run(body)


def locker(client, kind, path, i=0):
    if kind == "mutex":
        return Locks(client.Lock(path))
    if kind == "rw":
        return Locks(client.WriteLock(path) if i % 2 == 0 else client.ReadLock(path))
    if kind == "semaphore":
        return Locks(client.Semaphore(path, max_leases=1))
    if kind == "election":
        return Elections(client.Election(path))
    raise NotImplementedError(NONE)


def quantiles(took):
    took.sort()
    if not took:
        return {"ops": 0}
    return {"p50": took[len(took) // 2], "p90": took[len(took) * 9 // 10], "ops": len(took)}


def measure(n, turn):
    took = []
    for _ in range(n):
        start = time.monotonic_ns()
        turn()
        took.append(time.monotonic_ns() - start)
    return quantiles(took)


def pair(addr, kind, n, path):
    client = open_session(addr)
    try:
        one = locker(client, kind, path)

        def turn():
            one.turn(lambda: None)

        measure(5, turn)
        return measure(n, turn)
    finally:
        close_session(client)


def attempt(addr, kind, n, path):
    if kind != "mutex":
        raise NotImplementedError(NONE)
    a, b = open_session(addr), open_session(addr)
    try:
        held, other = a.Lock(path), b.Lock(path)
        held.acquire()

        def turn():
            if other.acquire(blocking=False):
                raise RuntimeError("got what somebody holds")

        answer = measure(n, turn)
        held.release()
        return answer
    finally:
        close_session(a)
        close_session(b)


class Relay:
    """What the contenders for one lock share."""

    def __init__(self, skip, most):
        self.mutex = threading.Lock()
        self.skip, self.most = skip, most
        self.turns = 0
        self.released = self.begun = self.ended = 0
        self.took = []
        self.failed = None

    def body(self):
        now = time.monotonic_ns()
        with self.mutex:
            self.turns += 1
            if self.turns == self.skip:
                self.begun = now
            elif self.skip < self.turns <= self.skip + self.most:
                self.took.append(now - self.released)
                self.ended = now
            self.released = time.monotonic_ns()

    def run(self, one):
        try:
            while self.turns < self.skip + self.most:
                one.turn(self.body)
        except Exception as e:
            traceback.print_exc()
            self.failed = e


def handover(addr, kind, contenders, turns, path):
    sessions = []
    try:
        before = resident()
        sessions.extend(open_session(addr) for _ in range(contenders))
        each = (resident() - before) // contenders
        relay = Relay(contenders + 1, turns)
        threads = [
            threading.Thread(target=relay.run, args=(locker(s, kind, path, i),), daemon=True)
            for i, s in enumerate(sessions)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if relay.failed:
            raise relay.failed
        answer = quantiles(relay.took)
        answer["took"] = relay.ended - relay.begun
        answer["heap"] = each
        return answer
    finally:
        for s in sessions:
            close_session(s)


def join(addr, kind, n, path):
    a, b = open_session(addr), open_session(addr)
    held = a.Lock(path)
    held.acquire()
    threading.stack_size(256 << 10)
    before = resident()
    begin = time.monotonic_ns()

    def wait(one):
        try:
            one.turn(lambda: None)
        except Exception:
            return  # the session has ended

    for i in range(n):
        threading.Thread(target=wait, args=(locker(b, kind, path, i),), daemon=True).start()
    say({"at": begin})
    each = 0
    while sys.stdin.readline().strip() != "end":
        each = (resident() - before) // n
    threading.stack_size(0)
    close_session(b)
    close_session(a)
    return {"ops": n, "heap": each}


def hold(addr, kind, n, path):
    client = open_session(addr)
    try:
        if kind != "mutex":
            raise NotImplementedError(NONE)
        client.Lock(path + "/first").acquire()
        before = resident()
        begin = time.monotonic_ns()
        held = []
        todo = queue.SimpleQueue()
        for i in range(n):
            todo.put(i)

        def work():
            while True:
                try:
                    i = todo.get_nowait()
                except queue.Empty:
                    return
                lock = client.Lock("%s/%06d" % (path, i))
                lock.acquire()
                held.append(lock)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(64)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        say({"took": time.monotonic_ns() - begin, "ops": n, "heap": (resident() - before) // n, "sessions": 1})
        while sys.stdin.readline().strip() != "end":
            continue
        return {"ops": len(held)}
    finally:
        close_session(client)


def wait(addr, kind, path):
    client = open_session(addr)
    at = []
    say({"at": time.monotonic_ns()})
    locker(client, kind, path).turn(lambda: at.append(time.monotonic_ns()))
    close_session(client)
    return {"at": at[0]}


def resident():
    """What the process takes of the machine's memory: there is no way to tell
    what is in use of it."""
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def say(answer):
    print(json.dumps(answer), flush=True)


VERBS = {"pair": pair, "try": attempt, "handover": handover, "join": join, "hold": hold, "wait": wait}


def main():
    for line in iter(sys.stdin.readline, ""):
        verb, addr, kind, *numbers, path = line.split()
        try:
            say(VERBS[verb](addr, kind, *map(int, numbers), path))
        except Exception as e:
            if str(e) != NONE:
                traceback.print_exc()
            say({"error": str(e) or repr(e)})


main()
