import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Stands in Apache Curator's elections by command. The commands are in election.go. */
public final class CuratorElection {
    private interface Giving {
        void up() throws Exception;
    }

    private final CuratorFramework client;
    private final Map<String, Giving> led = new ConcurrentHashMap<>();

    private CuratorElection(CuratorFramework client) {
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
        say("ready", "-", client.getZookeeperClient().getZooKeeper().getSessionId(), now(), 0, "");
        new CuratorElection(client).obey();
        client.close();
        System.exit(0); // whoever still waits
    }

    private void obey() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.trim().split(" ");
            try {
                perform(words);
            } catch (Exception e) {
                e.printStackTrace();
                say("failed", words[1], 0, now(), 0, "");
            }
        }
    }

    private void perform(String[] words) throws Exception {
        String name = words[1];
        if (words[0].equals("release")) {
            long before = now();
            led.remove(name).up();
            say("released", name, 0, before, now(), "");
            return;
        }
        String path = words[2];
        boolean latch = words[3].equals("latch");
        switch (words[0]) {
            case "lead" -> {
                if (latch) {
                    await(name, new LeaderLatch(client, path, name));
                } else {
                    await(name, path);
                }
            }
            case "leader" -> say("leader", name, 0, now(), 0, latch
                    ? new LeaderLatch(client, path).getLeader().getId()
                    : new LeaderSelector(client, path, new Reign("")).getLeader().getId());
            case "participants" -> say("participants", name, 0, now(), 0, ids(latch
                    ? new LeaderLatch(client, path).getParticipants()
                    : new LeaderSelector(client, path, new Reign("")).getParticipants()));
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private static String ids(Collection<Participant> all) {
        return all.stream().map(Participant::getId).collect(Collectors.joining(","));
    }

    private void await(String name, LeaderLatch latch) throws Exception {
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                say("held", name, 0, now(), 0, "");
            }

            @Override
            public void notLeader() {
                say("lost", name, 0, 0, now(), "");
            }
        });
        led.put(name, () -> latch.close(LeaderLatch.CloseMode.SILENT));
        latch.start();
    }

    private void await(String name, String path) {
        Reign reign = new Reign(name);
        LeaderSelector selector = new LeaderSelector(client, path, reign);
        selector.setId(name);
        led.put(name, () -> {
            reign.end.countDown();
            reign.ended.await();
            selector.close();
        });
        selector.start();
    }

    /** Leads until it is told to stop, or the connection is lost. */
    private static final class Reign extends LeaderSelectorListenerAdapter {
        private final String name;
        final CountDownLatch end = new CountDownLatch(1);
        final CountDownLatch ended = new CountDownLatch(1);

        Reign(String name) {
            this.name = name;
        }

        @Override
        public void takeLeadership(CuratorFramework client) {
            say("held", name, 0, now(), 0, "");
            try {
                end.await();
            } catch (InterruptedException e) {
                say("lost", name, 0, 0, now(), "");
            }
            ended.countDown();
        }
    }

    /** System.nanoTime is CLOCK_MONOTONIC on Linux. */
    private static long now() {
        return System.nanoTime();
    }

    private static synchronized void say(String event, String name, long token, long from, long to, String text) {
        System.out.println((event + " " + name + " " + token + " " + from + " " + to + " " + text).trim());
        System.out.flush();
    }
}
