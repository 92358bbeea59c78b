package recipeshttp

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestPageTellsNoSecrets(t *testing.T) {
	const user, password, chroot = "ann", "correct-horse-battery", "/tenants/of-the-4711th"
	acl := recipes.DigestACL(recipes.PermAll, user, password)
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		cable := srv.Cable()
		require.NoError(t, srv.Create("/tenants", nil))
		require.NoError(t, srv.Create(chroot, nil))
		c := zkrtest.DialBy(t, cable, srv.ConnectString()+chroot, recipes.WithTrace(p.Trace()),
			recipes.WithAuth("digest", []byte(user+":"+password)), recipes.WithACL(acl...), recipes.WithParentACL(acl...))
		stranger := zkrtest.DialBy(t, srv, srv.ConnectString()+chroot, recipes.WithTrace(p.Trace()))
		sessions := []int64{zkrtest.Session(t, c).ID(), zkrtest.Session(t, stranger).ID()}
		var pages strings.Builder
		collect := func() {
			pages.WriteString(ask(t, p, http.MethodGet, "").Body.String())
			pages.WriteString(ask(t, p, http.MethodGet, "?format=json").Body.String())
		}
		l := hold(t, c, "/locks/x")
		_, err := mutex(t, c, "/locks/x").Lock(zkrtest.Soon(t, time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = mutex(t, stranger, "/locks/x").Lock(t.Context())
		require.ErrorIs(t, err, recipes.ErrNoAuth)
		srv.On(zktest.Match{Op: zktest.OpAuth}).DropReply()
		cable.Cut() // it is shown again on the next connection, and the answer is lost
		time.Sleep(T / 2)
		collect()
		require.NoError(t, srv.Delete(chroot+l.Node()))
		<-l.Done()
		l = hold(t, c, "/locks/x")
		collect()
		srv.ExpireSession(sessions[0])
		<-l.Done()
		sessions = append(sessions, zkrtest.Session(t, c).ID())
		collect()

		all := pages.String()
		require.Contains(t, all, "/locks/x")
		require.Contains(t, all, "permission denied")
		secrets := []string{user + ":", password, chroot, "tenants", "digest", acl[0].ID}
		for _, id := range sessions {
			pass := zktest.SessionPassword(id)
			secrets = append(secrets, string(pass), hex.EncodeToString(pass), base64.StdEncoding.EncodeToString(pass), strings.Trim(fmt.Sprint(pass), "[]"))
		}
		for _, secret := range secrets {
			require.NotContains(t, all, secret)
		}
	})
}

// Somebody who may write where the locks are has put a contender in front, whose
// name and identity are meant for whoever looks.
func TestWhatAStrangerWroteDoesNothing(t *testing.T) {
	const (
		name     = `<b onclick=alert(1)>"'` + "`&amp;\u202e" + `lock-0000000000`
		identity = "</td><script>alert(1)</script>\x1b]0;x\a\u202e" + `{{.}} javascript:alert(1) "><img src=x>`
	)
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := New()
		require.NoError(t, srv.Create("/locks", nil))
		require.NoError(t, srv.Create("/locks/x", nil))
		require.NoError(t, srv.Create("/locks/x/"+name, []byte(identity)))
		c := join(t, p, srv)
		call := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, c, "/locks/x").Lock(t.Context()) })
		zkrtest.Pending(t, call)

		s := asJSON(t, p)
		require.Equal(t, "/locks/x/"+name, s.Waiting.Rows[0].Behind, "JSON says what it is")
		require.Contains(t, s.Waiting.Rows[0].First.Identity, "</td><script>alert(1)</script>")
		raw := ask(t, p, http.MethodGet, "?format=json").Body.String()
		requireHarmless(t, strings.TrimSuffix(raw, "\n"))
		require.NotContains(t, raw, "<", "for who takes it for something else")
		page := ask(t, p, http.MethodGet, "").Body.String()
		requireHarmless(t, strings.ReplaceAll(page, "\n", ""))
		require.Contains(t, page, `&lt;b onclick=alert(1)&gt;&#34;&#39;`)
		require.Contains(t, page, `\u202elock-0000000000`)
		require.NotRegexp(t, `<(b|script|img)[ >]`, page)

		require.NoError(t, srv.Delete("/locks/x/"+name))
		zkrtest.Granted(t, call, T)
	})
}

func TestWhatIsLongIsCutInItsMiddle(t *testing.T) {
	require.Equal(t, text("short"), clip("short"))
	require.Equal(t, text(strings.Repeat("a", 200)+"…"+strings.Repeat("z", 90)), clip(strings.Repeat("a", 1000)+strings.Repeat("z", 1000)))
	cut := string(clip(strings.Repeat("€", 1000)))
	require.True(t, utf8.ValidString(cut))
	require.Less(t, len(cut), maxText)
	require.LessOrEqual(t, len(clip(strings.Repeat("\x80", 1<<20))), maxText)
}

// tags are the page's own words in what is shown.
var tags = regexp.MustCompile(`<[^>]*>`)

// tell has the page told of everything there is, with the given words where
// strangers may choose them.
func tell(t testing.TB, p *Page, words string) {
	t.Helper()
	of := recipes.ContenderEvent{Call: 1, Lock: words, Kind: recipes.KindMutex, Path: words, Session: 1}
	p.acquireStart(t.Context(), recipes.AcquireEvent{Call: 1, Path: words, Kind: recipes.KindMutex})
	p.acquireStart(t.Context(), recipes.AcquireEvent{Call: 2, Path: words, Kind: recipes.KindMutex})
	p.enqueued(of)
	p.waiting(recipes.WaitEvent{ContenderEvent: of, Position: 1, Behind: "/x/" + words, Holder: recipes.Contender{Path: "/x/" + words, Identity: words, Session: 2}})
	p.acquireDone(t.Context(), recipes.AcquireEvent{Call: 2, Path: words, Err: errors.New("why: " + words)})
	lease := recipes.LeaseEvent{Path: words, Token: 7, Session: 1, Err: errors.New(words)}
	p.granted(lease)
	p.lost(lease)
	lease.Err = &recipes.LostError{Path: words, Token: 7, Session: 1, Cause: errors.New(words)}
	p.lost(lease)
	p.released(lease)
	p.sessionState(recipes.SessionEvent{Session: 1, State: recipes.Suspended, Cause: errors.New(words)})
	p.renewed(recipes.RenewalEvent{Session: 1, Err: errors.New(words)})
	p.cleanedUp(recipes.CleanupEvent{Path: words, Session: 1, Err: errors.New(words)})
	p.overrun(recipes.OverrunEvent{Path: words, Token: 7, Session: 1, Cause: errors.New(words)})
	p.stranger(recipes.StrangerEvent{Dir: words, Name: words})
}

// Whatever strangers write, the page has the same tags as where they write a
// letter, does nothing to whoever looks, and is of bounded length.
func FuzzPage(f *testing.F) {
	benign := New()
	tell(f, benign, "x")
	want := tags.FindAllString(ask(f, benign, http.MethodGet, "").Body.String(), -1)
	for i := range want {
		want[i] = timeless(want[i])
	}
	for _, seed := range []string{
		"x", "<script>", "\"'>", "&lt;", "{{.}}", "--><!--", "]]>", "\x00", "\x1b[2J", "\u202e", "\xff<", "`", "=", "</style>", "javascript:",
		strings.Repeat("<", 10000), strings.Repeat("é", 500), "+ADw-script+AD4-",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, words string) {
		p := New()
		tell(t, p, words)
		page := ask(t, p, http.MethodGet, "").Body.String()
		requireHarmless(t, strings.ReplaceAll(page, "\n", ""))
		got := tags.FindAllString(page, -1)
		require.Len(t, got, len(want))
		for i := range got {
			require.Equal(t, want[i], timeless(got[i]))
		}
		require.Less(t, len(page), 256<<10)

		body := ask(t, p, http.MethodGet, "?format=json").Body.String()
		requireHarmless(t, strings.TrimSuffix(body, "\n"))
		require.NotContains(t, body, "<")
		var s said
		require.NoError(t, json.Unmarshal([]byte(body), &s))
		if utf8.ValidString(words) && len(words) <= maxText {
			require.Equal(t, words, s.Waiting.Rows[0].Path, "JSON loses nothing")
		}
	})
}

// timeless is a tag without the time that it tells.
func timeless(tag string) string {
	if strings.HasPrefix(tag, "<time ") {
		return "<time>"
	}
	return tag
}

// However a page is asked for, it comes, or it is said what is wrong.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "", "")
	f.Add("HEAD", "format=json&refresh=5", "text/html, application/json;q=0.5")
	f.Add("POST", "refresh=-1;%zz", "q=;,/")
	f.Fuzz(func(t *testing.T, method, query, accept string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Method, r.URL.RawQuery, r.Header["Accept"] = method, query, []string{accept}
		w := httptest.NewRecorder()
		New().ServeHTTP(w, r)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest, http.StatusMethodNotAllowed}, w.Code)
		require.Contains(t, []string{"text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"}, w.Header().Get("Content-Type"))
		requireHeaders(t, w)
	})
}

// requireHarmless says on its own what does nothing to whoever looks.
func requireHarmless(t *testing.T, shown string) {
	t.Helper()
	require.True(t, utf8.ValidString(shown))
	for _, r := range shown {
		require.False(t, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs), "%U", r)
	}
}
