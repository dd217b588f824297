package sqlite

import (
	"errors"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// fullVFS is the driver's file layer with one thing put right: a write that
// finds no room is SQLite's FULL, and no failure of the disk.
//
// Why: the driver looks for the system's error number behind no wrapping, and
// the standard library's files wrap it. A batch that finds the disk full is
// taken back whole, as its last frame is not in the log; a disk that fails may
// have it or not, so that its callers would wait for what cannot be found out.
const fullVFS = "onceward"

func init() {
	if v, ok := vfs.Find("os").(vfs.VFSFilename); ok {
		vfs.Register(fullVFS, fullFiles{v})
	}
}

type fullFiles struct{ vfs.VFSFilename }

// OpenFilename implements vfs.VFSFilename.
func (v fullFiles) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := v.VFSFilename.OpenFilename(name, flags)
	if all, ok := f.(osFile); ok && err == nil {
		if flags&vfs.OPEN_WAL != 0 {
			return &logFile{fullFile: fullFile{all}}, out, nil
		}
		return fullFile{all}, out, nil
	}
	return f, out, noRoom(err)
}

// osFile is what the driver's own files can do on every system. The driver looks
// for each by a type assertion, so that a wrapper must offer all of it, and what
// some systems' files can do besides.
type osFile interface {
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
	vfs.FileSizeHint
	vfs.FileHasMoved
	vfs.FileSharedMemory
}

type fullFile struct{ osFile }

// MemoryMapper implements vfs.FileMemoryMapper.
func (f fullFile) MemoryMapper() vfs.MemoryMapper { return vfsutil.WrapMemoryMapper(f.osFile) }

// BeginAtomicWrite implements vfs.FileBatchAtomicWrite.
func (f fullFile) BeginAtomicWrite() error { return vfsutil.WrapBeginAtomicWrite(f.osFile) }

// CommitAtomicWrite implements vfs.FileBatchAtomicWrite.
func (f fullFile) CommitAtomicWrite() error { return noRoom(vfsutil.WrapCommitAtomicWrite(f.osFile)) }

// RollbackAtomicWrite implements vfs.FileBatchAtomicWrite.
func (f fullFile) RollbackAtomicWrite() error { return vfsutil.WrapRollbackAtomicWrite(f.osFile) }

// WriteAt implements vfs.File.
func (f fullFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.osFile.WriteAt(p, off)
	return n, noRoom(err)
}

// SizeHint implements vfs.FileSizeHint.
func (f fullFile) SizeHint(size int64) error { return noRoom(f.osFile.SizeHint(size)) }

// noRoom gives an error its meaning if it says that there is no room.
func noRoom(err error) error {
	if slices.ContainsFunc(noRoomErrors, func(full error) bool { return errors.Is(err, full) }) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}
