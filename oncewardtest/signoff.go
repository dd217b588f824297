package oncewardtest

import (
	"context"

	"github.com/onceward/onceward"
)

// Propose implements onceward.Store.
func (s *FaultyStore) Propose(ctx context.Context, c onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	if err := s.writable("propose contract"); err != nil {
		return err
	}
	return s.inner.Propose(ctx, c, force, notes...)
}

// PutSigning implements onceward.Store.
func (s *FaultyStore) PutSigning(ctx context.Context, g onceward.ContractSigning, notes ...onceward.AuditEvent) (bool, error) {
	if err := s.writable("sign contract"); err != nil {
		return false, err
	}
	return s.inner.PutSigning(ctx, g, notes...)
}

// Signings implements onceward.Store.
func (s *FaultyStore) Signings(ctx context.Context, tool onceward.ToolName, version string) ([]onceward.ContractSigning, error) {
	if err := s.readable("list signings"); err != nil {
		return nil, err
	}
	return s.inner.Signings(ctx, tool, version)
}

// ContractVersions implements onceward.Store.
func (s *FaultyStore) ContractVersions(ctx context.Context, tool onceward.ToolName, limit int) ([]onceward.ContractVersion, error) {
	if err := s.readable("list contract versions"); err != nil {
		return nil, err
	}
	return s.inner.ContractVersions(ctx, tool, limit)
}
