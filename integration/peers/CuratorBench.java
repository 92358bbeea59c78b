import com.sun.management.ThreadMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Runs the cases of integration/bench with Apache Curator. The commands are in its internal/contestant. */
public final class CuratorBench {
    private static final String NONE = "nothing of the kind";

    private interface Locker {
        void acquire() throws Exception;

        void release() throws Exception;

        default boolean tried() throws Exception {
            throw new UnsupportedOperationException(NONE);
        }
    }

    private interface Turn {
        void take() throws Exception;
    }

    private static BufferedReader in;
    private static int timeout;

    public static void main(String[] args) throws Exception {
        timeout = Integer.parseInt(args[0]);
        in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = obey(line.trim().split(" "));
            } catch (Exception e) {
                if (!NONE.equals(e.getMessage())) {
                    e.printStackTrace();
                }
                answer = "{\"error\":\"" + String.valueOf(e.getMessage()).replaceAll("[\"\\\\\\n]", "'") + "\"}";
            }
            say(answer);
        }
        System.exit(0);
    }

    private static void say(String answer) {
        System.out.println(answer);
        System.out.flush();
    }

    private static String obey(String[] w) throws Exception {
        String addr = w[1];
        String kind = w[2];
        String path = w[w.length - 1];
        return switch (w[0]) {
            case "pair" -> pair(addr, kind, Integer.parseInt(w[3]), path);
            case "try" -> attempt(addr, kind, Integer.parseInt(w[3]), path);
            case "handover" -> handover(addr, kind, Integer.parseInt(w[3]), Integer.parseInt(w[4]), path);
            case "join" -> join(addr, kind, Integer.parseInt(w[3]), path);
            case "hold" -> hold(addr, kind, Integer.parseInt(w[3]), path);
            case "wait" -> await(addr, kind, path);
            default -> throw new IllegalArgumentException(w[0]);
        };
    }

    private static CuratorFramework open(String addr) throws Exception {
        CuratorFramework c = CuratorFrameworkFactory.builder()
                .connectString(addr)
                .sessionTimeoutMs(timeout)
                .connectionTimeoutMs(10_000)
                .retryPolicy(new ExponentialBackoffRetry(50, 8, 1000))
                .build();
        c.start();
        if (!c.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + addr);
        }
        return c;
    }

    private static Locker locker(CuratorFramework c, String kind, String path, int i) {
        switch (kind) {
            case "mutex":
                return mutex(new InterProcessMutex(c, path));
            case "rw":
                InterProcessReadWriteLock both = new InterProcessReadWriteLock(c, path);
                return mutex(i % 2 == 0 ? both.writeLock() : both.readLock());
            case "semaphore":
                return new Locker() {
                    private final InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(c, path, 1);
                    private Lease lease;

                    @Override
                    public void acquire() throws Exception {
                        lease = semaphore.acquire();
                    }

                    @Override
                    public void release() throws Exception {
                        lease.close();
                    }
                };
            case "election":
                return new Locker() {
                    private LeaderLatch latch;

                    @Override
                    public void acquire() throws Exception {
                        latch = new LeaderLatch(c, path, "me");
                        latch.start();
                        latch.await();
                    }

                    @Override
                    public void release() throws Exception {
                        latch.close();
                    }
                };
            default:
                throw new UnsupportedOperationException(NONE);
        }
    }

    private static Locker mutex(InterProcessMutex m) {
        return new Locker() {
            @Override
            public void acquire() throws Exception {
                m.acquire();
            }

            @Override
            public void release() throws Exception {
                m.release();
            }

            @Override
            public boolean tried() throws Exception {
                return m.acquire(0, TimeUnit.MILLISECONDS);
            }
        };
    }

    private static String pair(String addr, String kind, int n, String path) throws Exception {
        try (CuratorFramework c = open(addr)) {
            Locker l = locker(c, kind, path, 0);
            Turn turn = () -> {
                l.acquire();
                l.release();
            };
            for (int i = 0; i < 5; i++) {
                turn.take();
            }
            return measure(n, turn);
        }
    }

    private static String measure(int n, Turn turn) throws Exception {
        long[] took = new long[n];
        long before = allocated();
        for (int i = 0; i < n; i++) {
            long start = System.nanoTime();
            turn.take();
            took[i] = System.nanoTime() - start;
        }
        return "{" + quantiles(took) + ",\"alloc_bytes\":" + (allocated() - before) / n + "}";
    }

    private static String quantiles(long[] took) {
        if (took.length == 0) {
            return "\"ops\":0";
        }
        Arrays.sort(took);
        return "\"p50\":" + took[took.length / 2] + ",\"p90\":" + took[took.length * 9 / 10] + ",\"ops\":" + took.length;
    }

    /** By threads that live, all of which do from one call to the next. */
    private static long allocated() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long sum = 0;
        for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }

    private static String attempt(String addr, String kind, int n, String path) throws Exception {
        try (CuratorFramework a = open(addr); CuratorFramework b = open(addr)) {
            Locker held = locker(a, kind, path, 0);
            Locker l = locker(b, kind, path, 0);
            held.acquire();
            String answer = measure(n, () -> {
                if (l.tried()) {
                    throw new IllegalStateException("got what somebody holds");
                }
            });
            held.release();
            return answer;
        }
    }

    /** What the contenders for one lock share. */
    private static final class Relay {
        private final int skip;
        private final int most;
        private int turns;
        private long released;
        private long begun;
        private long ended;
        private final List<Long> took = new ArrayList<>();

        Relay(int skip, int most) {
            this.skip = skip;
            this.most = most;
        }

        synchronized void held() {
            long now = System.nanoTime();
            turns++;
            if (turns == skip) {
                begun = now;
            } else if (turns > skip && turns <= skip + most) {
                took.add(now - released);
                ended = now;
            }
        }

        synchronized void letGo() {
            released = System.nanoTime();
        }

        synchronized boolean over() {
            return turns >= skip + most;
        }

        void run(Locker l) throws Exception {
            while (!over()) {
                l.acquire();
                held();
                letGo();
                l.release();
            }
        }
    }

    private static String handover(String addr, String kind, int contenders, int turns, String path) throws Exception {
        long before = heap();
        List<CuratorFramework> sessions = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(contenders);
        try {
            List<Locker> lockers = new ArrayList<>();
            for (int i = 0; i < contenders; i++) {
                sessions.add(open(addr));
                lockers.add(locker(sessions.get(i), kind, path, i));
            }
            long each = (heap() - before) / contenders;
            Relay r = new Relay(contenders + 1, turns);
            List<Future<?>> all = new ArrayList<>();
            for (Locker l : lockers) {
                all.add(threads.submit(() -> {
                    r.run(l);
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            long[] took = r.took.stream().mapToLong(Long::longValue).toArray();
            return "{" + quantiles(took) + ",\"took\":" + (r.ended - r.begun) + ",\"heap\":" + each + "}";
        } finally {
            threads.shutdownNow();
            sessions.parallelStream().forEach(CuratorFramework::close);
        }
    }

    private static String join(String addr, String kind, int n, String path) throws Exception {
        CuratorFramework b = open(addr);
        List<Thread> all = new ArrayList<>();
        try (CuratorFramework a = open(addr)) {
            Locker held = locker(a, kind, path, 0);
            held.acquire();
            long before = heap();
            long begin = System.nanoTime();
            for (int i = 0; i < n; i++) {
                Locker l = locker(b, kind, path, i);
                Thread t = new Thread(null, () -> {
                    try {
                        l.acquire();
                    } catch (Exception e) {
                        return; // the session has ended
                    }
                }, "waiter", 256 << 10);
                t.setDaemon(true);
                all.add(t);
                t.start();
            }
            say("{\"at\":" + begin + "}");
            long each = 0;
            while (!in.readLine().trim().equals("end")) {
                each = (heap() - before) / n;
            }
            for (Thread t : all) {
                t.interrupt();
            }
            return "{\"ops\":" + n + ",\"heap\":" + each + "}";
        } finally {
            b.close();
        }
    }

    private static String hold(String addr, String kind, int n, String path) throws Exception {
        ConcurrentLinkedQueue<Locker> held = new ConcurrentLinkedQueue<>();
        ExecutorService threads = Executors.newFixedThreadPool(64);
        try (CuratorFramework c = open(addr)) {
            locker(c, kind, path + "/first", 0).acquire();
            long before = heap();
            long begin = System.nanoTime();
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                String one = String.format("%s/%06d", path, i);
                all.add(threads.submit(() -> {
                    Locker l = locker(c, kind, one, 0);
                    l.acquire();
                    held.add(l);
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            long took = System.nanoTime() - begin;
            all.clear();
            say("{\"took\":" + took + ",\"ops\":" + n + ",\"heap\":" + (heap() - before) / n + ",\"sessions\":1}");
            while (!in.readLine().trim().equals("end")) {
                continue;
            }
            return "{\"ops\":" + held.size() + "}";
        } finally {
            threads.shutdownNow();
        }
    }

    private static String await(String addr, String kind, String path) throws Exception {
        try (CuratorFramework c = open(addr)) {
            Locker l = locker(c, kind, path, 0);
            say("{\"at\":" + System.nanoTime() + "}");
            l.acquire();
            long at = System.nanoTime();
            l.release();
            return "{\"at\":" + at + "}";
        }
    }

    private static long heap() {
        System.gc();
        System.gc();
        Runtime r = Runtime.getRuntime();
        return r.totalMemory() - r.freeMemory();
    }
}
