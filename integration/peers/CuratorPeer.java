import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Takes and gives Apache Curator's recipes by command. The commands are in doc.go. */
public final class CuratorPeer {
    private interface Giving {
        void up() throws Exception;
    }

    /** What is held. Its znode is null where it has none of its own. */
    private record Held(String node, Giving giving) {}

    private final CuratorFramework client;
    private final Map<String, Actor> actors = new ConcurrentHashMap<>();

    private CuratorPeer(CuratorFramework client) {
        this.client = client;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(args[0])
                .sessionTimeoutMs(Integer.parseInt(args[1]))
                .connectionTimeoutMs(10_000)
                .retryPolicy(new ExponentialBackoffRetry(50, 8, 1000))
                .build();
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + args[0]);
        }
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (!state.isConnected()) {
                say("suspended", "-", 0, now(), 0, state.name());
            }
        });
        say("ready", "-", client.getZookeeperClient().getZooKeeper().getSessionId(), now(), 0);
        new CuratorPeer(client).obey();
        client.close();
        System.exit(0); // whoever still waits
    }

    private void obey() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.trim().split(" ");
            actors.computeIfAbsent(words[1], Actor::new).obey(words);
        }
    }

    /** System.nanoTime is CLOCK_MONOTONIC on Linux. */
    private static long now() {
        return System.nanoTime();
    }

    private static void say(String event, String name, long token, long from, long to) {
        say(event, name, token, from, to, "");
    }

    private static synchronized void say(String event, String name, long token, long from, long to, String text) {
        System.out.println((event + " " + name + " " + token + " " + from + " " + to + " " + text).trim());
        System.out.flush();
    }

    /** One participant. It has a thread of its own, to which Curator ties what it holds. */
    private final class Actor {
        private final String name;
        private final ExecutorService thread = Executors.newSingleThreadExecutor(r -> {
            Thread t = new Thread(r);
            t.setDaemon(true);
            return t;
        });
        private Giving giving;
        private InterProcessReadWriteLock both; // last asked for

        Actor(String name) {
            this.name = name;
        }

        void obey(String[] words) {
            thread.execute(() -> {
                try {
                    perform(words);
                } catch (Exception | LinkageError e) {
                    e.printStackTrace();
                    say("failed", name, 0, now(), 0);
                }
            });
        }

        private void perform(String[] words) throws Exception {
            String path = words.length > 2 ? words[2] : "";
            switch (words[0]) {
                case "lock", "rlock", "wlock", "acquire", "lockall" -> hold(take(taking(words), -1));
                case "trylock", "tryrlock", "trywlock", "tryacquire" -> {
                    int last = words.length - 1;
                    words[0] = words[0].substring("try".length());
                    hold(take(taking(Arrays.copyOf(words, last)), Long.parseLong(words[last])));
                }
                case "loop" -> loop(Integer.parseInt(words[2]), Long.parseLong(words[3]), Arrays.copyOfRange(words, 4, words.length));
                case "revocable" -> revocable(path);
                case "revoke" -> {
                    Revoker.attemptRevoke(client, path);
                    say("asked", name, 0, now(), 0);
                }
                case "downgrade" -> {
                    Held reader = lock(both.readLock(), -1);
                    both.writeLock().release();
                    hold(reader);
                }
                case "participants" -> participants(new InterProcessMutex(client, path).getParticipantNodes());
                case "lead" -> lead(path);
                case "enter" -> enter(path, Integer.parseInt(words[3]));
                case "release" -> release();
                case "set" -> {
                    new DistributedBarrier(client, path).setBarrier();
                    say("set", name, 0, now(), 0);
                }
                case "remove" -> {
                    long before = now();
                    new DistributedBarrier(client, path).removeBarrier();
                    say("removed", name, 0, before, 0);
                }
                case "wait" -> {
                    new DistributedBarrier(client, path).waitOnBarrier();
                    say("passed", name, 0, now(), 0);
                }
                default -> throw new IllegalArgumentException(words[0]);
            }
        }

        /** A command without the name in it. */
        private String[] taking(String[] words) {
            List<String> all = new ArrayList<>(Arrays.asList(words));
            all.remove(1);
            return all.toArray(new String[0]);
        }

        /** Takes what the words say. They are a command's, without the name. It is null when the time is over. */
        private Held take(String[] words, long millis) throws Exception {
            String path = words[1];
            switch (words[0]) {
                case "lock":
                    return lock(new InterProcessMutex(client, path), millis);
                case "rlock":
                    both = new InterProcessReadWriteLock(client, path);
                    return lock(both.readLock(), millis);
                case "wlock":
                    both = new InterProcessReadWriteLock(client, path);
                    return lock(both.writeLock(), millis);
                case "lockall":
                    InterProcessMultiLock all = new InterProcessMultiLock(client, Arrays.asList(path.split(",")));
                    return lock(all, millis) ? new Held(null, all::release) : null;
                case "acquire":
                    InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, Integer.parseInt(words[2]));
                    Lease lease = millis < 0 ? semaphore.acquire() : semaphore.acquire(millis, TimeUnit.MILLISECONDS);
                    return lease == null ? null : new Held(path + "/leases/" + lease.getNodeName(), lease::close);
                default:
                    throw new IllegalArgumentException(words[0]);
            }
        }

        private boolean lock(InterProcessLock lock, long millis) throws Exception {
            if (millis < 0) {
                lock.acquire();
                return true;
            }
            return lock.acquire(millis, TimeUnit.MILLISECONDS);
        }

        private Held lock(InterProcessMutex mutex, long millis) throws Exception {
            return lock((InterProcessLock) mutex, millis) ? new Held(lockPath(mutex), mutex::release) : null;
        }

        private void hold(Held held) throws Exception {
            if (held == null) {
                say("busy", name, 0, now(), 0);
                return;
            }
            held(token(held.node()), held.giving());
        }

        private void held(long token, Giving giving) {
            long from = now();
            this.giving = giving;
            say("held", name, token, from, 0);
        }

        private void revocable(String path) throws Exception {
            InterProcessMutex mutex = new InterProcessMutex(client, path);
            mutex.makeRevocable(m -> say("revoked", name, 0, now(), 0));
            hold(lock(mutex, -1));
        }

        private void participants(Collection<String> nodes) throws Exception {
            for (String node : nodes) {
                String id = new String(client.getData().forPath(node), StandardCharsets.UTF_8);
                say("participant", name, token(node), now(), 0, id);
            }
            say("done", name, 0, now(), 0);
        }

        private void lead(String path) throws Exception {
            LeaderLatch latch = new LeaderLatch(client, path, name);
            latch.start();
            latch.await();
            held(token(latch.getOurPath()), latch::close);
        }

        private void enter(String path, int members) throws Exception {
            DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(client, path, members);
            barrier.enter();
            held(0, barrier::leave);
        }

        private void release() throws Exception {
            long before = now();
            giving.up();
            say("released", name, 0, before, now());
        }

        /** Connections and sessions may end meanwhile: a turn that was not given is tried again. */
        private void loop(int turns, long dwell, String[] words) {
            for (int i = 0; i < turns; ) {
                try {
                    Held held = take(words, -1);
                    long from = now();
                    i++;
                    try {
                        long token = token(held.node());
                        say("held", name, token, from, 0);
                        Thread.sleep(dwell);
                        say("turn", name, token, from, now());
                    } finally {
                        held.giving().up();
                    }
                } catch (Exception e) {
                    e.printStackTrace();
                }
            }
            say("done", name, 0, now(), 0);
        }

        private long token(String path) throws Exception {
            return path == null ? 0 : client.checkExists().forPath(path).getCzxid();
        }
    }

    /** Curator 5.4 tells the path to subclasses alone. */
    private static String lockPath(InterProcessMutex mutex) throws Exception {
        Method get = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        get.setAccessible(true);
        return (String) get.invoke(mutex);
    }
}
