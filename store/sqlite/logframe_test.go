package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// FuzzLogFrames holds that a log whose frames are gathered is, for whoever reads
// it, byte for byte the one that is written frame by frame, whatever is written
// where, and that a transaction's last frame waits for nothing.
func FuzzLogFrames(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 1, 0, 2, 3, 0, 200})
	f.Add([]byte{0, 0, 9, 0, 1, 9, 5, 5, 3, 1, 0, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		disk := &memoryFile{}
		log := &logFile{fullFile: fullFile{disk}}
		var want memoryFile
		var at int64
		for i, step := range steps {
			if i > 200 {
				break
			}
			switch step % 4 {
			case 0, 1: // a frame; 1: the last of its transaction
				head := make([]byte, frameHeader)
				binary.BigEndian.PutUint32(head[4:], uint32(step%4))
				for _, piece := range [][]byte{head, bytes.Repeat([]byte{step}, 64)} {
					if _, err := log.WriteAt(piece, at); err != nil {
						t.Fatal(err)
					}
					_, _ = want.WriteAt(piece, at)
					at += int64(len(piece))
				}
				if step%4 == 1 && !bytes.Equal(disk.data, want.data) {
					t.Fatalf("step %d: a transaction ended, and %d of %d bytes are written", i, len(disk.data), len(want.data))
				}
			case 2: // written over from the start
				at = int64(step) / 4 % 3 * (frameHeader + 64)
			case 3:
				got, one := make([]byte, 100), make([]byte, 100)
				n, err := log.ReadAt(got, int64(step))
				m, werr := want.ReadAt(one, int64(step))
				if n != m || !errors.Is(err, werr) || !bytes.Equal(got, one) {
					t.Fatalf("step %d: read %d bytes and %v, want %d and %v", i, n, err, m, werr)
				}
			}
		}
		if size, err := log.Size(); err != nil || size != int64(len(want.data)) || !bytes.Equal(disk.data, want.data) {
			t.Fatalf("%d bytes, want %d, %v", size, len(want.data), err)
		}
	})
}

// memoryFile is what the log needs of a file.
type memoryFile struct {
	osFile
	data []byte
}

func (m *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if need := off + int64(len(p)); need > int64(len(m.data)) {
		m.data = append(m.data, make([]byte, need-int64(len(m.data)))...)
	}
	return copy(m.data[off:], p), nil
}

func (m *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(m.data)) {
		return 0, io.EOF
	}
	n := copy(p, m.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memoryFile) Size() (int64, error) { return int64(len(m.data)), nil }
