package onceward

import (
	"context"
	"crypto/ed25519"
	"fmt"
)

// signatures checks the checkpoints.
func (v *verifier) signatures(ctx context.Context) error {
	keys := map[string]bool{}
	for after := int64(0); ; {
		all, err := v.trail.Checkpoints(ctx, after, AuditRowsMax)
		if err != nil {
			return err
		}
		for i := range all {
			v.checkpoint(&all[i], keys)
			after = all[i].Number
		}
		if len(all) < AuditRowsMax {
			break
		}
	}
	if v.key != nil && v.v.SignedTo == 0 && v.v.Seals > 0 {
		v.fault(AuditFault{Table: "checkpoints", Row: "all", Problem: "no checkpoint is signed by the key that was given", Expected: hexKey(v.key)})
	}
	return nil
}

func hexKey(k ed25519.PublicKey) string { return fmt.Sprintf("%x", []byte(k)) }

func (v *verifier) checkpoint(c *Checkpoint, keys map[string]bool) {
	f := AuditFault{Table: "checkpoints", Row: number(c.Number)}
	seal, there := v.seals[c.Number]
	switch {
	case !c.Holds():
		f.Problem = "the signature is not that of the key: the checkpoint was edited"
	case v.key != nil && !v.key.Equal(c.Key):
		f.Problem, f.Expected, f.Found = "another key signed it", hexKey(v.key), hexKey(c.Key)
	case !there:
		f.Problem = "its seal is not there: it was removed"
	case seal != c.Hash:
		f.Problem, f.Expected, f.Found = "the seal is not the one that was signed: the chain was made anew up to there", c.Hash.String(), seal.String()
	default:
		v.v.Checkpoints++
		v.v.SignedTo, v.v.SignedAt = c.Number, c.At
		if k := hexKey(c.Key); !keys[k] {
			keys[k] = true
			v.v.Keys = append(v.v.Keys, k)
		}
		return
	}
	v.fault(f)
}

// operationsAtOnce is how many operations are compared at once.
const operationsAtOnce = 500
