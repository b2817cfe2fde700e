// Package infile reads input: files whose size is bounded, so that a wrong path does not fill
// the memory.
package infile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// How long files may be.
const (
	MostText = 1 << 20 // what people write
	MostData = 1 << 28 // what programs write: results, traces
)

// Read reads a file of at most so many bytes, in whole MiB. The error does not name the file.
func Read(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer file.Close()
	switch info, err := file.Stat(); {
	case err == nil && info.IsDir():
		return nil, errors.New("it is a directory; want a file")
	case err == nil && info.Size() > most:
		return nil, longer(most)
	}
	return ReadFrom(file, most)
}

// ReadFrom reads to the end of r, which must come within so many bytes.
func ReadFrom(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, bare(err)
	}
	if int64(len(text)) > most {
		return nil, longer(most)
	}
	return text, nil
}

func longer(most int64) error { return fmt.Errorf("it is longer than %d MiB", most>>20) }

// bare strips the path from an error of package os.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
