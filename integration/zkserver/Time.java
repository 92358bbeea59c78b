package org.apache.zookeeper.common;

import java.util.Date;

/** Stands in for ZooKeeper's own class of this name, with the wall clock set off by a property. */
public class Time {
    private static final long OFFSET = Long.getLong("zkserver.clock.offset", 0);

    public static long currentElapsedTime() {
        return System.nanoTime() / 1000000;
    }

    public static long currentWallTime() {
        return System.currentTimeMillis() + OFFSET;
    }

    public static Date elapsedTimeToDate(long elapsed) {
        return new Date(currentWallTime() + elapsed - currentElapsedTime());
    }
}
