package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/onceward/onceward"
)

// keyBytesMax is the longest text of a key, or of a file with keys.
const keyBytesMax = 16 << 10

// keyText is how the text of a key is read that the configuration refers to.
// Errors name the reference, never what it holds.
type keyText struct {
	op   string // for errors
	hint string // how one is made
	risk string // what whoever can read the file could do: it is its owner's alone; empty: it is for all
}

// read reads what a reference points to: env:NAME or file:PATH.
func (k keyText) read(ref string) (string, error) {
	kind, name, found := strings.Cut(ref, ":")
	switch {
	case found && kind == "env":
		if v, there := os.LookupEnv(name); there {
			return v, nil
		}
		return "", k.refuse("the variable "+name+" is not set", nil)
	case found && kind == "file":
		return k.readFile(name, keyBytesMax)
	}
	return "", k.refuse("a key is named as env:NAME or file:PATH", nil)
}

// readFile reads a file of at most so many bytes.
func (k keyText) readFile(name string, most int64) (text string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", k.refuse("the file "+name+" cannot be read", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", k.refuse("the file "+name+" cannot be read", err)
	}
	if why := othersRead(name, info); k.risk != "" && why != "" {
		return "", &onceward.Error{Code: onceward.CodeConfigInvalid, Op: k.op, Message: why + ", and whoever can read it " + k.risk, Hint: "chmod 600 " + name}
	}
	if info.IsDir() || info.Mode()&fs.ModeDevice != 0 {
		return "", k.refuse(name+" is no file", nil)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return "", k.refuse("the file "+name+" cannot be read", err)
	case int64(len(data)) > most:
		return "", k.refuse("the file "+name+" is too long", nil)
	}
	return string(data), nil
}

func (k keyText) refuse(message string, cause error) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: k.op, Message: message, Hint: k.hint, Err: cause}
}
