package mutation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `It is broken
in two places.

fails lock TestA
storm lock TestB

@@ lock/a.go
 	stays
-	goes
+	comes
+	too

@@ lock/b.go
-	away
`

func TestMutationIsReadFromItsFile(t *testing.T) {
	m, err := parse(sample)
	require.NoError(t, err)
	require.Equal(t, Mutation{
		Title: "It is broken in two places.",
		Tests: []Test{{"lock", "TestA", false}, {"lock", "TestB", true}},
		Hunks: []Hunk{
			{"lock/a.go", "\tstays\n\tgoes\n", "\tstays\n\tcomes\n\ttoo\n"},
			{"lock/b.go", "\taway\n", ""},
		},
	}, m)
}

func TestMutationThatShowsNothingIsRefused(t *testing.T) {
	const hunk = "\n@@ a.go\n-old\n+new\n"
	for name, text := range map[string]string{
		"no title":            "fails lock TestA\n" + hunk,
		"no test":             "Title.\n" + hunk,
		"storms only":         "Title.\nstorm lock TestA\n" + hunk,
		"half a test":         "Title.\nfails lock TestA\nfails lock\n" + hunk,
		"no hunk":             "Title.\nfails lock TestA\n",
		"hunk without a file": "Title.\nfails lock TestA\n\n@@ \n-old\n+new\n",
		"hunk without change": "Title.\nfails lock TestA\n\n@@ a.go\n same\n",
		"hunk that adds only": "Title.\nfails lock TestA\n\n@@ a.go\n+new\n",
		"stray line":          "Title.\nfails lock TestA\n\n@@ a.go\n-old\n+new\nstray\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(text)
			require.Error(t, err)
		})
	}
}

func TestHunkFitsExactlyOnce(t *testing.T) {
	h := Hunk{File: "a.go", Old: "b\n", New: "c\n"}
	mutated, err := h.Apply("a\nb\nab\n")
	require.NoError(t, err)
	require.Equal(t, "a\nc\nab\n", mutated)
	for _, source := range []string{"a\nab\n", "b\na\nb\n", "bc\n"} {
		_, err := h.Apply(source)
		require.ErrorContains(t, err, "not once")
	}
}
