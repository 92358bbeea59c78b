// Package zkfence guards the data of a znode.
//
//	z, err := zkfence.New(client, "/config/report")
//	mu, err := lock.NewMutex(client, "/locks/report", lock.WithGuards(z))
//	err = mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
//		return z.Update(ctx, fence.Stamp{Token: l.Token()}, func(old []byte) ([]byte, error) {
//			return render(old), nil
//		})
//	})
//
// For writes to several znodes that are all made under one lock's lease,
// recipes.Lease.Txn does without a stamp. A guarded znode is for data whose
// writers hold the lease elsewhere, such as a service that gets the token along
// with a request, and for those who want refused what an earlier holder sends
// late in any case.
//
// # Guarantee
//
// Stamp and contents are one znode's data, which is replaced as a whole, and only
// in the version in which it was read: nothing is written that has not been
// admitted by the stamp that it replaces. Where the context carries the lease
// that the stamp's token is of, as those of Do and Run, the write commits in one
// transaction with a check of the lease's znodes. So such a write takes effect
// under its lease or not at all, also before a later grant's token stands.
//
// # What is not guaranteed
//
// Writes of others who do not go through this package are not fenced; they are
// found out, since what they leave has no stamp, and then everything is refused
// with [ErrNoStamp]. ACLs keep them away. A znode that was deleted has lost its
// fence: write empty contents instead.
//
// A change may be called more than once, whenever somebody else was faster; what
// counts is what the last call has returned.
//
// # Format
//
// The data begins with a line of the package's own, which others may skip and
// must not change:
//
//	zkrecipes-znode-1 TOKEN SEQ\n
//
// in decimal; then the contents, as they are. The number in the name is that of
// the format; data of a later one is refused with ErrNoStamp. Data that was there
// before is refused too, until [Znode.Adopt] has put a line before it.
//
// # Failures
//
// A write that ends in an error has changed nothing, unless that is a
// fence.ErrOutcomeUnknown: the answer was lost, and the context or the session
// ended before reading could tell, or somebody wrote since. What the servers
// refuse, such as for want of a permission or for size, is recipes' error.
package zkfence
