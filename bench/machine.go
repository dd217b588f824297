package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// flushes is how often the machine's disks were told to flush since it started,
// by whomever; false where the system does not say. One sync of a file is one
// flush at most: those that wait together share it.
func flushes() (n int64, ok bool) {
	data, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		return 0, false
	}
	const name, count = 2, 18 // docs.kernel.org/admin-guide/iostats.html
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) <= count {
			continue
		}
		if _, err := os.Stat(filepath.Join("/sys/block", fields[name])); err != nil {
			continue // a part of a disk
		}
		if under, err := os.ReadDir(filepath.Join("/sys/block", fields[name], "slaves")); err == nil && len(under) > 0 {
			continue // made of other disks, which count for themselves
		}
		of, err := strconv.ParseInt(fields[count], 10, 64)
		if err != nil {
			return 0, false
		}
		n, ok = n+of, true
	}
	return n, ok
}

// resident is the resident memory of a process in MiB.
func resident(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		return 0, err
	}
	return pages * float64(os.Getpagesize()) / (1 << 20), nil
}
