/*
 * The lock and the fence, for spin. README.md says what stands for what, and what
 * is left out.
 *
 * Three clients, each to hold the lock once. Whatever may happen happens at any
 * time: a client that is paused is one that does not take its next step for a
 * while, a message that is late one that arrives after others have done much. Each
 * client has a server of its own, which may learn of deletions late. Of the lease
 * clock is taken for granted what clock.pml shows: no lease outlives its session.
 * Grants are proven ones (recipes.WithStrictGrant).
 *
 *   lease   when a lease is granted nobody else believes in one
 *   token   a grant's token is greater than that of every earlier one
 *   fence   no effect of an older grant comes after one of a newer grant
 *   ghost   in the end no contender is left in the queue
 *   served  nobody waits for ever: no state without a way on, and no way in a circle
 *
 * Each of these breaks one of them:
 *
 *   -DNOFENCE    the resource does not look at tokens
 *   -DNOPROOF    who sees nobody before it holds the lock, its session unasked
 *   -DOUTLIVE    a lease may outlive its session
 *   -DEXISTS     a watch may be left on a contender that is gone
 *   -DKEEP       who has lost its lease leaves its contender to the session
 *   -DNOBARRIER  a creation whose answer was lost is looked for at once
 */

#ifndef EFFECTS
#define EFFECTS 2       /* of one holder, at most */
#endif
#define NOBODY 3

/* Clients have numbers in the order in which their contenders are made, so the
   number, from 1 on, serves as the token. Those whose contender is never made come
   anywhere. */
#define token(i) (i + 1)
#define turn(i) ((i == 0 || !asked[0]) && (i < 2 || !asked[1]))

/* The servers. */
bool alive[3] = true;   /* the sessions */
bool asked[3] = true;   /* the creation of a contender is under way */
bool there[3];          /* the contender */
byte late[3];           /* those before i that its server still shows though they are gone */
bool calm;              /* nothing goes wrong any more */

/* The clients. */
bool lease[3];          /* it has a lease, as it would say if it were asked now */
byte effects[3];        /* under way */
byte done;              /* how many clients have come to their end */
byte granted;           /* the token of the latest grant */

/* The resource. */
byte standing;          /* the token that it goes by */
byte newest;            /* the token of the latest effect */

#define shows(i, j) (there[j] || (late[i] & (1 << j)))
#define alone(i) ((i == 0 || !lease[0]) && (i == 1 || !lease[1]) && (i == 2 || !lease[2]))

inline delete(i) {
	there[i] = false;
	late[i] = 0;
	if :: i < 1 && there[1] -> late[1] = late[1] | (1 << i) :: else fi;
	if :: i < 2 && there[2] -> late[2] = late[2] | (1 << i) :: else fi
}

/* Variables that are of no more use are set to 0, so that fewer states differ. */
proctype Client(byte i) {
	byte pred, n;

	/* It has asked for its contender. The answer may be lost, or nobody may wait
	   for it any more: then it has to find out what has become of it. */
	if
	:: there[i] -> goto listing
	:: !alive[i] -> goto over
	:: !calm -> printf("client %d does not know what has become of its contender\n", token(i))
	fi;
#ifndef NOBARRIER
	/* A further write of the same session, behind which the first is done, or
	   never will be. */
	if
	:: d_step { alive[i] -> asked[i] = false }
	:: !alive[i] -> goto over
	fi;
#endif
	if
	:: there[i]
	:: there[i] -> goto leave
	:: atomic { !there[i] -> printf("client %d finds no contender of its own\n", token(i)); goto over }
	fi;

	/* It looks for the one just before it. */
listing:
	atomic {
		if
		:: i > 1 && shows(i, 1) -> pred = 1
		:: i > 0 && !(i > 1 && shows(i, 1)) && shows(i, 0) -> pred = 0
		:: else -> pred = 0; goto first
		fi;
		printf("client %d sees client %d before it\n", token(i), token(pred))
	};
	/* A get leaves a watch on it, or says that it is gone. */
	if
	:: shows(i, pred)
	:: !shows(i, pred) ->
#ifdef EXISTS
		printf("client %d waits for what is gone\n", token(i));
		!alive[i] -> goto over
#else
		goto listing
#endif
	fi;
	if
	:: !shows(i, pred) -> goto listing
	:: !alive[i] -> goto over
	:: !calm -> goto leave                  /* its caller does not want to wait any longer */
	fi;

	/* Nobody is before it: once true this stays true, so it does not matter which
	   server shows it. That its session lives none shows: for that there is the
	   lease clock. */
first:
	if
	:: atomic {
#ifndef NOPROOF
		alive[i] ->
#endif
		printf("client %d is granted the lock\n", token(i));
		assert(alone(i));               /* lease */
		assert(token(i) > granted);     /* token */
		granted = token(i);
		lease[i] = true
	   }
	:: !alive[i] -> goto over
	fi;

	/* It looks at its lease, and has an effect. That may take its time: the client
	   is paused after the look, or the message is late. */
	do
	:: d_step { lease[i] && n < EFFECTS ->
		printf("client %d sees that its lease holds, and is about to write\n", token(i));
		n++;
		effects[i]++
	   }
	:: break
	od;
#ifdef KEEP
	if
	:: lease[i]
	:: atomic { !lease[i] -> printf("client %d leaves its contender\n", token(i)); goto over }
	fi;
#endif
	atomic { lease[i] = false; n = 0 };

leave:
	if
	:: d_step { alive[i] -> delete(i); printf("client %d deletes its contender\n", token(i)) }
	:: !alive[i]
	fi;
over:
	atomic { pred = 0; done++ }
}

/* What time and the servers do to a client. */
proctype Servers(byte i) {
end:	do
	:: d_step { asked[i] && turn(i) ->
		asked[i] = false;
		if
		:: alive[i] -> there[i] = true; printf("the contender of client %d is made\n", token(i))
		:: else
		fi
	   }
	:: d_step { !calm && alive[i] && (asked[i] || there[i]) ->
		printf("the session of client %d ends, and its contender is gone\n", token(i));
		alive[i] = false;
#ifndef OUTLIVE
		lease[i] = false;
#endif
		delete(i)
	   }
	/* A lease may end long before its session does. */
	:: d_step { lease[i] -> lease[i] = false; printf("the lease of client %d ends\n", token(i)) }
	/* Its server learns of a deletion. */
	:: late[i] & 1 -> late[i] = late[i] & ~1
	:: late[i] & 2 -> late[i] = late[i] & ~2
	od
}

/* An effect of a client arrives. */
proctype Resource(byte i) {
end:	do
	:: atomic { effects[i] > 0 ->
		effects[i]--;
		if
#ifndef NOFENCE
		:: token(i) < standing -> goto end
		:: token(i) >= standing -> standing = token(i)
#else
		:: true
#endif
		fi;
		printf("the write of client %d arrives and takes effect\n", token(i));
		assert(token(i) >= newest);     /* fence */
		newest = token(i)
	   }
	od
}

init {
	byte i;
	atomic {
		for (i : 0 .. 2) { run Client(i); run Servers(i); run Resource(i) }
	}
	calm = true;
	done == 3 && !asked[0] && !asked[1] && !asked[2];
	assert(!there[0] && !there[1] && !there[2])     /* ghost */
}
