/*
 * The lock, the lease clock and the fence, for spin.
 *
 * Three contenders stand in a queue, each to hold the lock once. One is a client
 * of a follower, which may lag and may be cut off from its leader; the others are
 * clients of the leader. Whatever may happen happens at any time: a contender that
 * is paused is one that does not take its next step for a while, a message that is
 * late one that nobody takes out of its stream.
 *
 * Time goes by in units of half a tick, in which the leader pings its follower
 * once. All clocks run alike, so nothing is taken off for drift. A session ends as
 * soon as the leader may end it. Grants are proven ones (recipes.WithStrictGrant).
 * Left out are how znodes are made, and changes of the leader and of a contender's
 * server, which internal/leaseclock simulates.
 *
 * Looked for in every state:
 *
 *   fence    no effect of an older grant comes after one of a newer grant
 *   lease    when a lease is granted, no other holder believes in one
 *   served   once nothing goes wrong any more, everybody has had the lock soon
 *
 * Each of these is to break one of them:
 *
 *   -DNOFENCE    the resource does not look at tokens
 *   -DLASTWRITE  a lease is believed for T from the last write
 *   -DNOPROOF    who is first in a listing holds the lock
 *   -DNOGAP      a frame counts as reported without a ping in between
 *   -DGHOST      a lease that was lost leaves its znode to the session
 *
 * served is looked for with -DSERVED.
 *
 * State of it: spin finds counter-examples for the first three. NOGAP, GHOST and
 * SERVED have shown nothing yet, and the whole of the model, with nothing broken,
 * has not been searched to its end: in the first million states nothing is wrong.
 * It proves nothing until it is.
 *
 *   spin -a -DT=3 lock.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m500000 -w24
 */

#ifndef T
#define T 4             /* session timeout */
#endif
#ifdef NOGAP
#define GAP 0
#else
#define GAP 1           /* how long before write n-1 is sent a frame must have been answered */
#endif
#define SOON (T + 3)
#define ROOM 2          /* in a stream between servers; what does not fit in ends it */

#define FAR 0           /* the contender at the follower */

mtype = { PING, PONG, WRITE, DONE, OVER }               /* messages */
mtype = { RENEW, DELETE }                               /* writes */
mtype = { WAITS, HOLDS, LOOKED, LEAVES, ASKED, GONE }   /* contenders */

/* The leader. */
bool alive[3] = true;   /* the sessions */
byte left = T;          /* until it ends the session of the one at the follower */
byte znode[3];          /* the transactions that made the contenders' znodes; 0: gone */

/* The follower, joined to its leader by two streams. */
chan down = [ROOM] of { mtype, byte }   /* PING, or DONE or OVER with the write that it answers */
chan up   = [ROOM] of { mtype, byte }   /* PONG with whether the client was heard of, or WRITE */
bool heard;             /* of its client, since the last ping */
bool cut;               /* off from the leader; it goes on answering its client */

/* The contenders. */
mtype at[3] = WAITS;
byte token[3];
bool believes[3];       /* holds a lease, as it would say if it were asked now */

/* The lease clock of the one at the follower. Times are ages, and one of T is
   worth nothing. */
byte proven = T;        /* for how long no server can have ended its session */
byte framed;            /* bit k: a frame was answered k units ago */
bool busy;              /* a write is under way */
byte sent = T;          /* when */
byte own = T;           /* the anchor that it is worth as n-1 */
byte before = T;        /* the anchor that it proves as n */
byte last = T;          /* what the latest confirmed write is worth as n-1 */

byte standing, newest;  /* at the resource: the token that it knows, and that of the newest effect */

bool calm;              /* nothing goes wrong any more */
byte since;             /* for how long */

#define first(i) (ahead(0, i) && ahead(1, i) && ahead(2, i))
#define ahead(j, i) (znode[j] == 0 || znode[j] >= token[i])
#define alone(i) ((i == 0 || !believes[0]) && (i == 1 || !believes[1]) && (i == 2 || !believes[2]))
#define useful (last < T || framed > 1)
#define stands(i) (at[i] == WAITS || at[i] == HOLDS || at[i] == LOOKED)
#define reached(i) (i != FAR || !busy && !cut && nfull(up))
#ifdef NOPROOF
#define sure(i) true
#else
#define sure(i) (i == FAR && proven > 0 || i != FAR && alive[i])
#endif
#ifdef GHOST
#define tidy(i) believes[i]
#else
#define tidy(i) true
#endif

/* The contender at the follower asks for a write. Its anchor is the latest frame
   that was answered GAP ago or earlier. */
inline ask(what) {
	own = GAP;
	do
	:: own < T && !(framed & (1 << own)) -> own++
	:: else -> break
	od;
	before = last;
#ifdef LASTWRITE
	sent = 0;
#endif
	busy = true;
	heard = true;
	up!WRITE, what
}

#define extend(age) if :: T - age > proven -> proven = T - age :: else fi

/* ... and learns that it was committed. */
inline confirm() {
#ifdef LASTWRITE
	extend(sent);
	sent = T;
#else
	extend(before);
#endif
	if :: own < last -> last = own :: else fi;
	own = T; before = T;
	busy = false
}

/* A contender asks for a write. The leader commits it at once for its own clients. */
inline request(i, what) {
	if
	:: i == FAR -> ask(what)
	:: i != FAR && alive[i] -> commit(i, what); learn(i, what)
	:: i != FAR && !alive[i] -> over(i)
	fi
}

inline commit(i, what) { if :: what == DELETE -> znode[i] = 0 :: else fi }
inline learn(i, what) { if :: what == DELETE -> at[i] = GONE :: else fi }
inline over(i) { believes[i] = false; at[i] = GONE }

inline expire(i) { alive[i] = false; znode[i] = 0; believes[i] = false }

proctype Contender(byte i) {
end:	do
	/* It sees that nobody is before it. Once true this stays true, so it does not
	   matter which server shows it. That its own session lives it does not see. */
	:: atomic { at[i] == WAITS && first(i) && sure(i) ->
		assert(alone(i));                               /* lease */
		believes[i] = true;
		at[i] = HOLDS
	   }

	/* It looks at its lease, and writes. In between it may be paused. */
#ifndef SERVED
	:: atomic { at[i] == HOLDS && believes[i] -> at[i] = LOOKED }
#endif
	:: atomic { at[i] == LOOKED ->
		if
#ifndef NOFENCE
		:: token[i] < standing                          /* refused */
		:: token[i] >= standing ->
#else
		:: true ->
#endif
			assert(token[i] >= newest);             /* fence */
			newest = token[i];
			standing = token[i]
		fi;
		at[i] = HOLDS
	   }

	/* It gives the lock back, or has lost it. */
	:: atomic { at[i] == HOLDS && tidy(i) -> believes[i] = false; at[i] = LEAVES }
	:: atomic { at[i] == LEAVES && reached(i) -> at[i] = ASKED; request(i, DELETE) }

	/* Meanwhile it keeps its session alive, and proven: this is about the one at
	   the follower, whose client the others are told by the leader itself. */
	:: atomic { i == FAR && at[i] != GONE && !(framed & 1) -> framed = framed | 1; heard = true }
	:: atomic { i == FAR && stands(i) && reached(i) && (!calm || useful) -> request(i, RENEW) }
	:: atomic { i != FAR && !alive[i] && at[i] == WAITS -> over(i) }
	od
}

/* The leader reads what its follower sends. What moves the clock of a session at
   the follower is a reply to a ping that names it. */
proctype Leader() {
	byte what;
end:	do
	:: atomic { up?[PONG, _] -> up?PONG, what;
		if :: what && alive[FAR] -> left = T :: else fi
	   }
	:: atomic { up?[WRITE, _] && nfull(down) -> up?WRITE, what;
		if
		:: alive[FAR] -> commit(FAR, what); down!DONE, what
		:: !alive[FAR] -> down!OVER, what
		fi
	   }

	/* Its own clients are heard by the leader itself, so that their leases are over
	   when their sessions are; they are when they have been paused for long. */
	:: atomic { !calm && alive[1] -> expire(1) }
	:: atomic { !calm && alive[2] -> expire(2) }
	od
}

/* The follower reads what its leader sends, and hands answers on to its client. */
proctype Follower() {
	byte what;
end:	do
	:: atomic { down?[PING, _] && nfull(up) -> down?PING, what; up!PONG, heard; heard = false }
	:: atomic { down?[DONE, _] -> down?DONE, what; confirm(); learn(FAR, what) }
	:: atomic { down?[OVER, _] -> down?OVER, what; busy = false; over(FAR) }
	od
}

inline cutOff() {
	cut = true;
	do :: nempty(up) -> up?_, _ :: empty(up) -> break od;
	do :: nempty(down) -> down?_, _ :: empty(down) -> break od
}

/* What proves no more than is proven already is worth nothing, and forgotten so
   that fewer states differ. */
#define older(age) if :: age < T && T - age > proven + 1 -> age++ :: else -> age = T fi

/* While nothing goes wrong a unit is over when nobody has anything left to do in
   it, and otherwise at any time. */
proctype Clock() {
end:	do
	:: atomic { !calm && !cut -> cutOff() }
	:: atomic { !calm || (timeout && since < SOON) ->
		if :: left > 0 -> left-- :: else fi;
		if :: left == 0 -> alive[FAR] = false; znode[FAR] = 0 :: else fi;
		if :: proven > 0 -> proven-- :: else fi;
		if :: proven == 0 -> believes[FAR] = false :: else fi;
		older(own); older(before); older(last);
#ifdef LASTWRITE
		older(sent);
#endif
		framed = framed << 1;
		framed = framed & -framed & ((1 << (T - proven)) - 1);
		if
		:: cut || down??[PING, 0]       /* one that is not there yet will tell as much */
		:: !cut && !down??[PING, 0] && nfull(down) -> down!PING, 0
		fi;
		if
		:: calm ->
			since++;
			assert(since < SOON || at[1] == GONE && at[2] == GONE && (cut || at[FAR] == GONE))  /* served */
		:: !calm ->
#ifdef SERVED
			if :: calm = true :: true fi
#endif
		fi
	   }
	od
}

/* In the queue the one at the follower is the first, the second, or the last. */
init {
	atomic {
		if
		:: znode[FAR] = 1; znode[1] = 2; znode[2] = 3
		:: znode[FAR] = 2; znode[1] = 1; znode[2] = 3
		:: znode[FAR] = 3; znode[1] = 1; znode[2] = 2
		fi;
		token[0] = znode[0]; token[1] = znode[1]; token[2] = znode[2];
		run Contender(0); run Contender(1); run Contender(2);
		run Leader(); run Follower(); run Clock()
	}
}
