"""Takes and gives kazoo's recipes by command. The commands are in doc.go."""

import argparse
import queue
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.protocol.states import KazooState

printing = threading.Lock()


def now():
    """CLOCK_MONOTONIC."""
    return time.monotonic_ns()


def say(event, name, token=0, start=None, end=0, text=""):
    with printing:
        print(event, name, token, now() if start is None else start, end, text, flush=True)


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

    def make(self, verb, path):
        if verb == "rlock":
            # Readers do not wait for each other.
            writers = [p for p in self.patterns if p != "__READ__"]
            return self.client.ReadLock(path, self.name_, extra_lock_patterns=writers)
        kind = self.client.WriteLock if verb == "wlock" else self.client.Lock
        return kind(path, self.name_, extra_lock_patterns=self.patterns)

    def do_lock(self, path, millis=None):
        self.contend(self.make("lock", path), millis)

    def do_rlock(self, path, millis=None):
        self.contend(self.make("rlock", path), millis)

    def do_wlock(self, path, millis=None):
        self.contend(self.make("wlock", path), millis)

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

    def do_participants(self, path):
        for identity in self.make("lock", path).contenders():
            self.say("participant", 0, now(), 0, identity)
        self.say("done")

    def do_loop(self, turns, dwell, verb, path):
        """Connections and sessions may end meanwhile: a turn that was not given
        is tried again."""
        left = int(turns)
        while left > 0:
            try:
                lock = self.make(verb, path)
                lock.acquire()
                start = now()
                left -= 1
                try:
                    token = self.token(lock)
                    self.say("held", token, start)
                    time.sleep(int(dwell) / 1000)
                    self.say("turn", token, start, now())
                finally:
                    lock.release()
            except Exception:
                traceback.print_exc()
        self.say("done")


def watch_connection(state):
    if state != KazooState.CONNECTED:
        say("suspended", "-")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("connect")
    parser.add_argument("timeout", type=int, help="of the session, in milliseconds")
    parser.add_argument("patterns", nargs="*", help="further names to take for contenders, as lock-")
    args = parser.parse_args()
    client = KazooClient(hosts=args.connect, timeout=args.timeout / 1000)
    client.start(timeout=30)
    client.add_listener(watch_connection)
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
