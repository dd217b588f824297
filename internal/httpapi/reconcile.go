package httpapi

// reconcile is POST /v1/operations/{id}/reconcile.
func reconcile(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	if err := c.read(&struct{}{}, false); err != nil {
		return err
	}
	op, err := c.ledger.Reconcile(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}
