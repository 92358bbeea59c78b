package fence

import "fmt"

// Stamp marks a write with the grant that it was made under. The zero Stamp is
// what stands at a resource that no grant has reached.
type Stamp struct {
	Token Token

	// Seq numbers the writes of one grant to one resource, from 1: of two, the
	// one sent later has the greater number, and a repetition has the same. It
	// is for holders whose own writes may arrive late or twice. Number all
	// writes of a grant to a resource or none: 0 is a write without a number,
	// which every write of the same grant, earlier or later, lets pass.
	Seq int64
}

// String returns the token, followed by a slash and the number if there is one.
func (s Stamp) String() string {
	if s.Seq == 0 {
		return s.Token.String()
	}
	return fmt.Sprintf("%d/%d", s.Token, s.Seq)
}

// Admit is the rule of every guard: whether a write under the offered stamp may
// take effect where s stands, and what stands afterwards. A greater token is
// admitted, a smaller one refused; of the same token a write is admitted if it
// has no number or a greater one. The error is a [*StaleError], or ErrNoToken.
//
// The rule alone is no guard: what it is asked with must stay as it is until
// the effect and the new stamp are both applied.
func (s Stamp) Admit(resource string, offered Stamp) (Stamp, error) {
	if err := offered.validate(); err != nil {
		return s, err
	}
	switch {
	case offered.Token > s.Token:
		return offered, nil
	case offered.Token == s.Token && offered.Seq == 0:
		return s, nil
	case offered.Token == s.Token && offered.Seq > s.Seq:
		return offered, nil
	}
	return s, &StaleError{Resource: resource, Offered: offered, Standing: s}
}

// AdmitRead is the rule for a holder of a shared grant. Its token is checked and
// never stands: readers hold at the same time and must not fence out each other,
// and a writer that went over to reading has a greater token than the writer
// that waits behind it.
func (s Stamp) AdmitRead(resource string, token Token) error {
	_, err := s.Admit(resource, Stamp{Token: token})
	return err
}

func (s Stamp) validate() error {
	if s.Token <= 0 || s.Seq < 0 {
		return fmt.Errorf("%w: %d/%d", ErrNoToken, s.Token, s.Seq)
	}
	return nil
}
