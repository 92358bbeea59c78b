package filefence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/filefence"
)

func ExampleFile_Update() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	f, err := filefence.New(filepath.Join(dir, "latest"))
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func(token fence.Token, text string) error {
		return f.Update(ctx, fence.Stamp{Token: token}, func([]byte) ([]byte, error) { return []byte(text), nil })
	}

	fmt.Println(write(33, "draft"))
	fmt.Println(f.Install(ctx, 34))
	fmt.Println(errors.Is(write(33, "late draft"), fence.ErrStale))
	data, stamp, err := f.Contents()
	fmt.Printf("%s, %v stands, %v\n", data, stamp, err)
	// Output:
	// <nil>
	// <nil>
	// true
	// draft, 34 stands, <nil>
}
