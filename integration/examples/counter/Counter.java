import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Counts along with the Go program beside it: Counter CONNECT TIMES. */
public final class Counter {
    public static void main(String[] args) throws Exception {
        try (CuratorFramework client =
                CuratorFrameworkFactory.newClient(args[0], new ExponentialBackoffRetry(50, 8, 1000))) {
            client.start();
            System.out.println("counting");
            InterProcessMutex mutex = new InterProcessMutex(client, "/counter/lock");
            for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                mutex.acquire();
                try {
                    increment(client, lockPath(mutex));
                } finally {
                    mutex.release();
                }
            }
        }
        System.out.println("done");
    }

    /** Commits the new value together with a check that our place in the queue is still there. */
    private static void increment(CuratorFramework client, String lock) throws Exception {
        byte[] data = client.getData().forPath("/counter/value");
        long next = Long.parseLong(new String(data, StandardCharsets.UTF_8)) + 1;
        client.transaction().forOperations(
                client.transactionOp().check().forPath(lock),
                client.transactionOp().setData().forPath("/counter/value", Long.toString(next).getBytes(StandardCharsets.UTF_8)));
    }

    /** Curator keeps the path of the znode with which it holds to subclasses. */
    private static String lockPath(InterProcessMutex mutex) throws Exception {
        Method get = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        get.setAccessible(true);
        return (String) get.invoke(mutex);
    }
}
