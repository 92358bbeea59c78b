package filefence

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkrecipes/zkrecipes/fence"
)

// ErrDamaged is returned, wrapped, when a file is not one that this package
// wrote, or not as it wrote it.
var ErrDamaged = errors.New("filefence: damaged file")

// document is what a file holds: a line that begins with header, and the data.
type document struct {
	stamp fence.Stamp
	data  []byte
}

// header is followed by token, number, the length of the data and its checksum.
const header = "zkrecipes-fence-1"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (d document) encode() []byte {
	var b bytes.Buffer
	d.writeHeader(&b)
	b.Write(d.data)
	return b.Bytes()
}

func (d document) writeHeader(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s %d %d %d %08x\n", header, d.stamp.Token, d.stamp.Seq, len(d.data), crc32.Checksum(d.data, castagnoli))
}

// decode accepts what encode makes and nothing else: the header is made again
// from what was read and must be the same.
func decode(raw []byte) (document, error) {
	line, data, found := bytes.Cut(raw, []byte("\n"))
	d := document{data: data}
	var name string
	var length int
	var sum uint32
	_, err := fmt.Sscanf(string(line), "%s %d %d %d %x", &name, &d.stamp.Token, &d.stamp.Seq, &length, &sum)
	var again bytes.Buffer
	d.writeHeader(&again)
	if err != nil || !found || again.String() != string(line)+"\n" {
		return document{}, ErrDamaged
	}
	return d, nil
}

// read returns the zero document where there is no file.
func read(path string) (document, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, nil
	}
	if err != nil {
		return document{}, fmt.Errorf("filefence: %w", err)
	}
	d, err := decode(raw)
	if err != nil {
		return document{}, fmt.Errorf("%w: %s", err, path)
	}
	return d, nil
}

// flush forces what was written to the disk. No test can pull the plug, so tests
// look at what is flushed, and when.
var flush = (*os.File).Sync

// step is called before each step of a replacement, for tests that end the
// process there.
var step = func(string) {}

// replace makes the file hold d, for good when it returns nil. Its caller holds
// the lock, so the new file's name is a fixed one, and what a killed process
// left there is overwritten.
func replace(path string, d document) error {
	step("write")
	next := path + ".next"
	if err := writeFlushed(next, d.encode(), mode(path)); err != nil {
		return fmt.Errorf("filefence: %w", err)
	}
	step("rename")
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("filefence: %w", err)
	}
	step("flush folder")
	if err := flushFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("filefence: %w: %w", fence.ErrOutcomeUnknown, err)
	}
	step("done")
	return nil
}

// mode returns the permissions of the file that is replaced.
func mode(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

func writeFlushed(path string, raw []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(raw); err != nil {
		return err
	}
	step("flush")
	if err := flush(file); err != nil {
		return err
	}
	return file.Close()
}

func flushFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return flush(dir)
}
