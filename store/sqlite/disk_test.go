package sqlite_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/onceward/onceward/store/sqlite"
)

// disk is the real file system, with faults, with a count of what was synced,
// and with a memory of what a power cut would leave. It lies below the store's
// own file layer, which thus meets what the store has to live with.
type disk struct {
	vfs.VFSFilename
	name string

	mu       sync.Mutex
	readOnly bool              // files open for reading only
	write    error             // what a write gives
	sync     error             // what a sync gives
	syncs    int               // of the write-ahead log
	writes   int               // to it
	synced   map[string][]byte // each file as it was when it was last synced
}

// newDisk registers a disk that is good until it is told otherwise.
func newDisk(t testing.TB) *disk {
	t.Helper()
	d := &disk{VFSFilename: vfs.Find("os").(vfs.VFSFilename), name: "disk-" + t.Name(), synced: map[string][]byte{}}
	vfs.Register(d.name, sqlite.FilesOver(d))
	t.Cleanup(func() { vfs.Unregister(d.name) })
	return d
}

// set changes the disk's faults.
func (d *disk) set(edit func(d *disk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	edit(d)
}

func (d *disk) syncCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

func (d *disk) writeCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

// afterPowerCut makes a folder of what would be left of the ledger's files, and
// returns the ledger's path in it.
func (d *disk) afterPowerCut(t testing.TB, path string) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(d.synced)) {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), d.synced[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, filepath.Base(path))
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	d.mu.Lock()
	if d.readOnly && flags&vfs.OPEN_MAIN_DB != 0 {
		flags = flags&^(vfs.OPEN_READWRITE|vfs.OPEN_CREATE) | vfs.OPEN_READONLY
	}
	d.mu.Unlock()
	f, out, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, out, err
	}
	return &diskFile{osFile: f.(osFile), disk: d, name: name.String(), log: flags&vfs.OPEN_WAL != 0}, out, nil
}

// osFile is what the driver's own files can do; the store's file layer wraps
// nothing less.
type osFile interface {
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
	vfs.FileSizeHint
	vfs.FileHasMoved
	vfs.FileSharedMemory
}

type diskFile struct {
	osFile
	disk *disk
	name string
	log  bool // it is the write-ahead log
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	err := f.disk.write
	if f.log {
		f.disk.writes++
	}
	f.disk.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return f.osFile.WriteAt(p, off)
}

func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.sync != nil {
		return f.disk.sync
	}
	if err := f.osFile.Sync(flags); err != nil {
		return err
	}
	if f.log {
		f.disk.syncs++
	}
	content, err := os.ReadFile(f.name)
	if err != nil {
		return sqlite3.IOERR_FSYNC
	}
	f.disk.synced[f.name] = content
	return nil
}

// Delete forgets the file. A folder is synced with the first sync of a new log,
// which comes before the first commit that anybody hears of.
func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.synced, name)
	return d.VFSFilename.Delete(name, syncDir)
}
