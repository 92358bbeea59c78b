/*
 * The lease clock, for spin: no lease outlives its session. README.md says what
 * stands for what, and what is left out.
 *
 * A client keeps its session alive through a follower, which may be as late as it
 * likes, and may be cut off from its leader without noticing: it goes on answering
 * its client then. What is late is what nobody takes out of its stream; a client
 * that is paused, or gone, is one that does not take its next step.
 *
 * Time goes by in units of half a tick, with one ping of the leader each. Both
 * clocks run alike, so nothing is taken off for drift.
 *
 * Each of these breaks it:
 *
 *   -DANSWER     whatever frame was answered proves the session
 *   -DLASTWRITE  a confirmed write does
 *   -DNOGAP      two writes prove what was answered just before the first of them
 */

#ifndef T
#define T 8             /* session timeout, in half ticks */
#endif

mtype = { PING, PONG, WRITE, DONE };

/* The leader. It ends the session when left is 0. */
byte left = T;
bool alive = true;

/* The follower, and the two streams that join it to its leader. Of pings one is
   under way at most: a further one could only tell the leader more. */
chan down = [2] of { mtype };           /* PING, DONE */
chan up   = [2] of { mtype, bool };     /* PONG: whether the client was heard of; WRITE */
bool heard;                             /* of the client, since the last ping */
bool cut;

/* The client. It believes in its lease while proven is not 0. To make the session
   has proven it for T. Below that are ages, of which T is worth nothing. */
byte proven = T;
bool fresh;             /* a frame was answered in this unit */
byte older = T;         /* the latest frame that was answered before it */
bool busy;              /* a write is under way */
byte own = T;           /* the frame that it is worth as n-1 */
byte before = T;        /* the frame that it proves as n */
byte last = T;          /* the frame that the latest confirmed write is worth as n-1 */

/* Whatever is proven is compared with the leader's clock at once: if everything
   were cut now, that is when the session would end. */
inline prove(age) {
	if
	:: T - age > proven ->
		proven = T - age;
		printf("the client takes its session for proven for %d, of which the leader knows %d\n", proven, left)
	:: else
	fi;
	assert(proven <= left)
}

proctype Client() {
	do
	/* The follower answers a frame alone. */
	:: atomic { !fresh ->
		printf("a frame of the client is answered by the follower\n");
		fresh = true; heard = true;
#ifdef ANSWER
		prove(0)
#endif
	   }

	/* A write goes on to the leader. */
	:: d_step { !busy && !cut && nfull(up) ->
		printf("the client sends a write\n");
		busy = true; heard = true;
		own = older; before = last;
#ifdef NOGAP
		if :: fresh -> own = 0 :: else fi;
#endif
#ifdef LASTWRITE
		before = 0;
#endif
		up!WRITE, false
	   }
	od
}

proctype Follower() {
	do
	:: d_step { down?[PING] && nfull(up) ->
		printf("the follower answers a ping; of the client it has heard: %d\n", heard);
		down?PING; up!PONG, heard; heard = false
	   }

	/* The client learns that its write is confirmed. */
	:: atomic { down?[DONE] ->
		printf("the write is confirmed\n");
		down?DONE;
		prove(before);
		if :: own < last -> last = own :: else fi;
		busy = false; own = T; before = T
	   }
	od
}

/* Only the answer to a ping moves the leader's clock of the session. A write is
   committed if the session still is there. */
proctype Leader() {
	bool what;
	do
	:: d_step { up?[PONG, _] ->
		up?PONG, what;
		if
		:: what && alive -> left = T; printf("the leader's clock of the session starts anew\n")
		:: else
		fi;
		what = false
	   }
	:: d_step { up?[WRITE, _] && nfull(down) ->
		up?WRITE, what;
		if :: alive -> down!DONE; printf("the leader commits the write\n") :: else fi
	   }
	od
}

/* What would prove nothing new is forgotten, so that fewer states differ. */
inline grow(age) {
	if :: age < T -> age++ :: else fi;
	if :: T - age <= proven -> age = T :: else fi
}

proctype Time() {
	do
	:: d_step { !cut ->
		printf("the follower is cut off from the leader\n");
		cut = true;
		do :: up?_, _ :: empty(up) -> break od;
		do :: down?_ :: empty(down) -> break od
	   }

	:: atomic {
		printf("half a tick goes by\n");
		if :: left > 0 -> left-- :: else fi;
		if :: proven > 0 -> proven-- :: else fi;
		if :: left == 0 -> alive = false :: else fi;
		assert(alive || proven == 0);

		if :: fresh -> older = 0; fresh = false :: else fi;
		grow(older); grow(own); grow(before); grow(last);
		if
		:: cut || down??[PING]
		:: !cut && !down??[PING] && nfull(down) -> down!PING
		fi
	   }
	od
}

init {
	atomic { run Client(); run Follower(); run Leader(); run Time() }
}
