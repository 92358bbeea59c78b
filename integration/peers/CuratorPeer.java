import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
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
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Takes and gives Apache Curator's recipes by command. The commands are in doc.go. */
public final class CuratorPeer {
    private interface Giving {
        void up() throws Exception;
    }

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

    private static synchronized void say(String event, String name, long token, long from, long to) {
        System.out.println(event + " " + name + " " + token + " " + from + " " + to);
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
                case "lock" -> lock(new InterProcessMutex(client, path), -1);
                case "trylock" -> lock(new InterProcessMutex(client, path), Long.parseLong(words[3]));
                case "rlock" -> lock(new InterProcessReadWriteLock(client, path).readLock(), -1);
                case "tryrlock" -> lock(new InterProcessReadWriteLock(client, path).readLock(), Long.parseLong(words[3]));
                case "wlock" -> lock(new InterProcessReadWriteLock(client, path).writeLock(), -1);
                case "trywlock" -> lock(new InterProcessReadWriteLock(client, path).writeLock(), Long.parseLong(words[3]));
                case "acquire" -> acquire(path, Integer.parseInt(words[3]), -1);
                case "tryacquire" -> acquire(path, Integer.parseInt(words[3]), Long.parseLong(words[4]));
                case "lead" -> lead(path);
                case "enter" -> enter(path, Integer.parseInt(words[3]));
                case "release" -> release();
                case "loop" -> loop(path, Integer.parseInt(words[3]));
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

        private void held(long token, Giving giving) {
            long from = now();
            this.giving = giving;
            say("held", name, token, from, 0);
        }

        private void lock(InterProcessMutex mutex, long millis) throws Exception {
            if (millis < 0) {
                mutex.acquire();
            } else if (!mutex.acquire(millis, TimeUnit.MILLISECONDS)) {
                say("busy", name, 0, now(), 0);
                return;
            }
            held(token(lockPath(mutex)), mutex::release);
        }

        private void acquire(String path, int limit, long millis) throws Exception {
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, limit);
            Lease lease = millis < 0 ? semaphore.acquire() : semaphore.acquire(millis, TimeUnit.MILLISECONDS);
            if (lease == null) {
                say("busy", name, 0, now(), 0);
                return;
            }
            held(token(path + "/leases/" + lease.getNodeName()), lease::close);
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

        private void loop(String path, int turns) throws Exception {
            InterProcessMutex mutex = new InterProcessMutex(client, path);
            for (int i = 0; i < turns; i++) {
                mutex.acquire();
                long from = now();
                long token = token(lockPath(mutex));
                long to = now();
                mutex.release();
                say("turn", name, token, from, to);
            }
            say("done", name, 0, now(), 0);
        }

        private long token(String path) throws Exception {
            return client.checkExists().forPath(path).getCzxid();
        }
    }

    /** Curator 5.4 tells the path to subclasses alone. */
    private static String lockPath(InterProcessMutex mutex) throws Exception {
        Method get = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        get.setAccessible(true);
        return (String) get.invoke(mutex);
    }
}
