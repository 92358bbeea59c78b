package timeline_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/chaos/timeline"
	"github.com/zkrecipes/zkrecipes/internal/history"
)

func TestPictureShowsWhatOverlapsItsTime(t *testing.T) {
	hold := func(who string, from, to time.Duration) history.Hold {
		return history.Hold{Path: "/mutex", Who: who, Mode: history.Exclusive, From: from, To: to}
	}
	p := timeline.Picture{
		Title:  "a < b",
		Holds:  []history.Hold{hold("early.0", 0, time.Second), hold("w1.0", 5*time.Second, 7*time.Second), hold("w1.1", 8*time.Second, 30*time.Second)},
		Faults: []timeline.Fault{{"servers", "server killed", "server 1", 6 * time.Second, 9 * time.Second}},
		From:   2 * time.Second, To: 12 * time.Second,
	}
	var b strings.Builder
	require.NoError(t, p.Write(&b))
	svg := b.String()
	require.NotContains(t, svg, "early")
	require.Equal(t, 2, strings.Count(svg, `class="exclusive"`))
	require.Equal(t, 1, strings.Count(svg, `class="fault"`))
	require.Contains(t, svg, ">/mutex<")
	require.Contains(t, svg, "server killed: server 1, 3s")
	require.Contains(t, svg, "a &lt; b")
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
}
