package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/onceward/onceward"
)

// Reveal copies an export, and adds to each line that is encrypted what is in it
// (opened), or that its data key is gone (shredded). CodeInvalidRequest: a line is
// none of an export.
func Reveal(ctx context.Context, keys onceward.Sealer, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		raw, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a last line that is not whole was never said to be taken
			return nil
		}
		if err != nil {
			return fmt.Errorf("read export: %w", err)
		}
		if raw, err = revealed(ctx, keys, raw); err != nil {
			return err
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
}

// revealed is a line with its end, in clear as far as that can be.
func revealed(ctx context.Context, keys onceward.Sealer, raw []byte) ([]byte, error) {
	var l line
	all := map[string]json.RawMessage{} // also what this version does not know
	if errors.Join(json.Unmarshal(raw, &l), json.Unmarshal(raw, &all)) != nil {
		return nil, onceward.Errorf(onceward.CodeInvalidRequest, "a line is no export of onceward serve --export")
	}
	if l.Sealed == nil {
		return raw, nil
	}
	id, err := onceward.ParseOperationID(l.Operation)
	if err != nil {
		return nil, err
	}
	op := &onceward.Operation{ID: id, Tenant: onceward.Tenant(l.Tenant), Generation: onceward.Generation(l.Generation), Subject: onceward.SubjectID(l.SubjectID), Sealed: l.Sealed}
	if err := keys.Reveal(ctx, op); err != nil {
		return nil, err
	}
	delete(all, "sealed")
	if op.Shredded {
		all["shredded"] = json.RawMessage("true")
	} else if all["opened"], err = json.Marshal(bodiesOf(op)); err != nil {
		return nil, err
	}
	raw, err = json.Marshal(all)
	return append(raw, '\n'), err
}
