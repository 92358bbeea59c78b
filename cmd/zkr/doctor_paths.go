package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// compare looks at the servers side by side.
func (d *doctor) compare() {
	var versions, alone, leaders []string
	for _, s := range d.seen {
		if s.version != "" && !slices.Contains(versions, s.version) {
			versions = append(versions, s.version)
		}
		switch s.mode {
		case "standalone":
			alone = append(alone, s.addr)
		case "leader":
			leaders = append(leaders, s.addr)
		}
	}
	if len(versions) > 1 {
		d.fault("ensemble", "versions", "they differ: %s; that is for the time of an upgrade only", strings.Join(versions, ", "))
	}
	if len(alone) > 1 || len(alone) == 1 && len(leaders) > 0 {
		d.fault("ensemble", "mode", "%s stand alone: they are no ensemble, and each gives the same locks away", strings.Join(alone, ", "))
	}
	if len(leaders) > 1 {
		d.fault("ensemble", "mode", "%s all say that they lead; all but one have been deposed, or they are several ensembles", strings.Join(leaders, ", "))
	}
}

// worstOffset is how far clocks may be apart before that is a fault.
const worstOffset = 2 * time.Second

// ensemble looks at what is the same whichever server is asked.
func (d *doctor) ensemble(ctx context.Context, s *recipes.Session) error {
	ctx, cancel := context.WithTimeout(ctx, min(d.conn.within, perServer))
	defer cancel()
	dir, err := d.nearest(ctx, s)
	if err != nil {
		return err
	}
	probe := below(dir, "zkr-doctor-"+recipes.NewUUID())
	if err := d.clock(ctx, s, probe); err != nil {
		return err
	}
	return d.containers(ctx, s, probe)
}

// nearest returns the directory above the first path, or as much of it as there
// is.
func (d *doctor) nearest(ctx context.Context, s *recipes.Session) (dir string, err error) {
	if len(d.paths) > 0 {
		dir = d.paths[0]
	}
	for there := false; err == nil && !there; {
		dir = dir[:max(0, strings.LastIndexByte(dir, '/'))]
		if dir == "" {
			return "/", nil
		}
		_, there, err = s.Exists(ctx, dir)
	}
	return dir, err
}

// clock reads the leader's clock off a transaction that leaves nothing.
func (d *doctor) clock(ctx context.Context, s *recipes.Session, probe string) error {
	before := d.now()
	results, err := s.Multi(ctx, recipes.CreateOp(probe, nil, recipes.Persistent, nil), recipes.SetOp(probe, nil, -1), recipes.DeleteOp(probe, -1))
	after := d.now()
	if err != nil {
		return d.cannot("clock", err)
	}
	// The transaction was made some time in between.
	told := results[1].Stat.Modified
	switch {
	case told.After(after.Add(worstOffset)):
		d.fault("ensemble", "clock", "the leader's is %v ahead of this machine's: ages are wrong by that; leases do not depend on it", told.Sub(after).Round(time.Millisecond))
	case told.Before(before.Add(-worstOffset)):
		d.fault("ensemble", "clock", "the leader's is %v behind this machine's: ages are wrong by that; leases do not depend on it", before.Sub(told).Round(time.Millisecond))
	default:
		d.ok("ensemble", "clock", "the leader's is that of this machine, within %v", worstOffset)
	}
	return nil
}

// cannot says what could not be found out for want of a permission or of a place.
func (d *doctor) cannot(check string, err error) error {
	if errors.Is(err, recipes.ErrNoAuth) || errors.Is(err, recipes.ErrNoNode) {
		d.note("ensemble", check, "cannot be told: %s", explain(err))
		return nil
	}
	return err
}

// containers makes one and deletes it, also where zkr is interrupted in between:
// servers delete containers that have had children, and no others by default.
func (d *doctor) containers(ctx context.Context, s *recipes.Session, probe string) error {
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(d.conn.within, perServer))
	defer cancel()
	_, err := s.Create(whole, probe, nil, recipes.Container, nil)
	switch {
	case err == nil:
		d.ok("ensemble", "containers", "can be made: directories of locks go by themselves")
		if err := s.Delete(whole, probe, -1); err != nil && !errors.Is(err, recipes.ErrNoNode) {
			return err
		}
		return ctx.Err()
	case errors.Is(err, recipes.ErrNoAuth), errors.Is(err, recipes.ErrNoNode), whole.Err() != nil:
		return d.cannot("containers", err)
	}
	d.note("ensemble", "containers", "cannot be made (%s): directories of locks stay for ever", explain(err))
	return ctx.Err()
}

// path examines a lock, an election or a semaphore.
func (d *doctor) path(ctx context.Context, s *recipes.Session, path string) error {
	ctx, cancel := context.WithTimeout(ctx, min(d.conn.within, perServer))
	defer cancel()
	found, _, err := (&inspector{client: s.Client(), most: 1000}).look(ctx, s, path)
	switch {
	case errors.Is(err, recipes.ErrNoNode):
		d.ok(path, "queue", "nobody holds it, nobody waits, and there is no directory yet")
	case errors.Is(err, recipes.ErrNoAuth):
		d.fault(path, "permission", "%s", d.whyDenied(ctx, s, path, "read"))
		return nil
	case errors.Is(err, recipes.ErrBadBase): // tokens says it
	case err != nil:
		return err
	default:
		if err := d.directory(ctx, s, path); err != nil {
			return err
		}
		d.queue(path, found)
	}
	return d.tokens(ctx, s, path)
}

// directory looks at who may do what.
func (d *doctor) directory(ctx context.Context, s *recipes.Session, path string) error {
	err := mayCreate(ctx, s, path)
	switch {
	case errors.Is(err, recipes.ErrNoAuth):
		d.fault(path, "permission", "%s", d.whyDenied(ctx, s, path, "create in"))
	case err != nil:
		return err
	}
	acl, err := s.ACL(ctx, path)
	if errors.Is(err, recipes.ErrNoAuth) || errors.Is(err, recipes.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range acl {
		if a.Scheme == "world" && a.Perms&recipes.PermDelete != 0 {
			d.note(path, "ACL", "whoever reaches the servers may delete the contenders of others")
			return nil
		}
	}
	d.ok(path, "ACL", "%s", aclText(acl))
	return nil
}

// mayCreate returns ErrNoAuth where no contender could be made. It makes none: the
// transaction fails at its second part.
func mayCreate(ctx context.Context, s *recipes.Session, path string) error {
	never := path + "/zkr-doctor-" + recipes.NewUUID()
	results, err := s.Multi(ctx, recipes.CreateOp(never, nil, recipes.Persistent, nil), recipes.CheckOp(never+"-", -1))
	switch {
	case len(results) == 2 && errors.Is(results[1].Err, recipes.ErrNoNode):
		return nil
	case errors.Is(err, recipes.ErrNoNode): // the directory is gone since
		return nil
	}
	return err
}

// whyDenied says what a permission is missing for, and if the ACL shows it, why.
func (d *doctor) whyDenied(ctx context.Context, s *recipes.Session, path, what string) string {
	acl, err := s.ACL(ctx, path)
	if err == nil {
		for _, a := range acl {
			user, _, _ := strings.Cut(a.ID, ":")
			for _, c := range d.creds {
				if a.Scheme == "digest" && c.scheme == "digest" && c.user() == user {
					return fmt.Sprintf("it may not %s it, though its ACL has the user %s: with another password, or fewer permissions", what, user)
				}
			}
		}
		return fmt.Sprintf("it may not %s it: its ACL is %s", what, aclText(acl))
	}
	if len(d.creds) > 0 {
		return fmt.Sprintf("it may not %s it with these credentials, nor see its ACL: is the user another one, or the password wrong?", what)
	}
	return fmt.Sprintf("it may not %s it, nor see its ACL: see --auth-file", what)
}

// aclText says an ACL without what proves anything: of a digest the user alone.
func aclText(acl []recipes.ACL) string {
	var parts []string
	for _, a := range acl {
		id := a.ID
		if a.Scheme == "digest" {
			id, _, _ = strings.Cut(id, ":")
		}
		parts = append(parts, a.Scheme+":"+id+":"+permText(a.Perms))
	}
	return strings.Join(parts, ", ")
}

// permText writes permissions as ZooKeeper's own shell does.
func permText(p recipes.Perm) string {
	text := ""
	for _, perm := range []struct {
		perm recipes.Perm
		c    string
	}{{recipes.PermCreate, "c"}, {recipes.PermDelete, "d"}, {recipes.PermRead, "r"}, {recipes.PermWrite, "w"}, {recipes.PermAdmin, "a"}} {
		if p&perm.perm != 0 {
			text += perm.c
		}
	}
	return text
}

// queue looks at who stands there.
func (d *doctor) queue(path string, found *site) {
	if found == nil {
		d.ok(path, "queue", "nobody holds it, nobody waits")
		return
	}
	d.ok(path, "queue", "%s, %d hold, %d wait", found.kind, found.holding, found.waiting)
	for i, name := range found.strangers {
		if i == maxNamed {
			d.fault(path, "strangers", "and %d more", len(found.strangers)-i)
			break
		}
		harm := "nothing else may live in it"
		if slices.Contains(found.blocking, name) {
			harm = "Curator's clients wait for it for ever"
		}
		d.fault(path, "strangers", "%s does not belong there: %s; delete it, with zkCli", shorten(plain(name), nodeWidth), harm)
	}
	for _, p := range found.places {
		if p.Session == 0 {
			d.fault(path, "queue", "%s belongs to no session: who stands behind it waits for ever; see zkr break", shorten(plain(nameOf(p.Path)), nodeWidth))
		}
	}
}

// tokens looks at the base of a path's tokens, and at what stands at a resource.
func (d *doctor) tokens(ctx context.Context, s *recipes.Session, path string) error {
	base, err := s.FenceBase(ctx, path)
	switch {
	case errors.Is(err, recipes.ErrBadBase), errors.Is(err, recipes.ErrNoAuth):
		d.fault(path, "base", "%s: no lock can be had", explain(err))
		return nil
	case err != nil:
		return err
	case base > 0:
		d.note(path, "base", "%v is added to its tokens", base)
	}
	if d.standing == 0 {
		return nil
	}
	now, err := s.Client().TokenNow(ctx, path)
	switch {
	case errors.Is(err, recipes.ErrNoAuth):
		d.note(path, "tokens", "cannot be told: %s", explain(err))
	case err != nil:
		return err
	case now < fence.Token(d.standing):
		d.fault(path, "tokens", "%s", ahead(fence.Token(d.standing), now)+"; see zkr fence raise")
	default:
		d.ok(path, "tokens", "the ensemble gives greater ones than the %v of --standing", fence.Token(d.standing))
	}
	return nil
}
