"""Takes and gives kazoo's recipes by command. The commands are in doc.go."""

import argparse
import queue
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

printing = threading.Lock()


def now():
    """CLOCK_MONOTONIC."""
    return time.monotonic_ns()


def say(event, name, token=0, start=None, end=0):
    with printing:
        print(event, name, token, now() if start is None else start, end, flush=True)


class Actor(threading.Thread):
    """One participant, with a thread of its own."""

    def __init__(self, client, name, patterns):
        super().__init__(daemon=True)
        self.client, self.name_, self.patterns = client, name, patterns
        self.commands = queue.Queue()
        self.give_up = None
        self.start()

    def run(self):
        while True:
            verb, *args = self.commands.get()
            try:
                getattr(self, "do_" + verb)(*args)
            except Exception:
                traceback.print_exc()
                say("failed", self.name_)

    def say(self, event, *args):
        say(event, self.name_, *args)

    def held(self, token, give_up):
        start = now()
        self.give_up = give_up
        self.say("held", token, start)

    def token(self, lock):
        return self.client.exists(lock.path + "/" + lock.node).czxid

    def contend(self, lock, millis):
        try:
            got = lock.acquire(timeout=None if millis is None else int(millis) / 1000)
        except LockTimeout:
            got = False
        if not got:
            self.say("busy")
            return
        self.held(self.token(lock), lock.release)

    def do_lock(self, path, millis=None):
        self.contend(self.client.Lock(path, self.name_, extra_lock_patterns=self.patterns), millis)

    def do_rlock(self, path, millis=None):
        self.contend(self.client.ReadLock(path, self.name_, extra_lock_patterns=self.patterns), millis)

    def do_wlock(self, path, millis=None):
        self.contend(self.client.WriteLock(path, self.name_, extra_lock_patterns=self.patterns), millis)

    do_trylock, do_tryrlock, do_trywlock = do_lock, do_rlock, do_wlock

    def do_acquire(self, path, limit, millis=None):
        semaphore = self.client.Semaphore(path, self.name_, max_leases=int(limit))
        try:
            got = semaphore.acquire(timeout=None if millis is None else int(millis) / 1000)
        except LockTimeout:
            got = False
        if got:
            self.held(0, semaphore.release)
        else:
            self.say("busy")

    do_tryacquire = do_acquire

    def do_lead(self, path):
        """Leads until release; Election.run returns when its function does."""
        election = self.client.Election(path, self.name_)
        leading, over = threading.Event(), threading.Event()

        def lead():
            leading.set()
            over.wait()

        term = threading.Thread(target=election.run, args=(lead,), daemon=True)
        term.start()
        leading.wait()

        def resign():
            over.set()
            term.join()

        self.held(self.token(election.lock), resign)

    def do_enter(self, path, members):
        barrier = self.client.DoubleBarrier(path, int(members), self.name_)
        barrier.enter()
        self.held(0, barrier.leave)

    def do_set(self, path):
        self.client.Barrier(path).create()
        self.say("set")

    def do_remove(self, path):
        before = now()
        self.client.Barrier(path).remove()
        self.say("removed", 0, before)

    def do_wait(self, path):
        self.client.Barrier(path).wait()
        self.say("passed")

    def do_release(self):
        before = now()
        self.give_up()
        self.say("released", 0, before, now())

    def do_loop(self, path, turns):
        lock = self.client.Lock(path, self.name_, extra_lock_patterns=self.patterns)
        for _ in range(int(turns)):
            lock.acquire()
            start = now()
            token = self.token(lock)
            end = now()
            lock.release()
            self.say("turn", token, start, end)
        self.say("done")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("connect")
    parser.add_argument("timeout", type=int, help="of the session, in milliseconds")
    parser.add_argument("patterns", nargs="*", help="further names to take for contenders, as lock-")
    args = parser.parse_args()
    client = KazooClient(hosts=args.connect, timeout=args.timeout / 1000)
    client.start(timeout=30)
    say("ready", "-", client.client_id[0])
    actors = {}
    for line in sys.stdin:
        verb, name, *rest = line.split()
        if name not in actors:
            actors[name] = Actor(client, name, args.patterns)
        actors[name].commands.put([verb, *rest])
    client.stop()
    client.close()


main()
