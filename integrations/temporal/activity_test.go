package temporal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	oncetemporal "github.com/onceward/onceward/integrations/temporal"
	"github.com/onceward/onceward/internal/enginetest"
)

// send is the activity of the example: it sends a parcel, and loses the answer. What
// was sent is not known until Temporal tries it again.
func send(ledger *onceward.Ledger, sent *enginetest.Parcels) func(context.Context, string) (oncetemporal.Done[string], error) {
	once := oncetemporal.Activity(ledger, time.Second, func(order string) (onceward.Intent, error) { return enginetest.Intent(order), nil },
		func(_ context.Context, _ *onceward.Call, order string) (string, string, error) {
			return "", "", sent.Send(order)
		})
	sent.Hide()
	return func(ctx context.Context, order string) (oncetemporal.Done[string], error) {
		if activity.GetInfo(ctx).Attempt > 1 {
			sent.Show()
		}
		return once(ctx, order)
	}
}

// place is the workflow: one activity, tried until it is settled.
func place(ctx workflow.Context, order string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond}})
	var d oncetemporal.Done[string]
	err := workflow.ExecuteActivity(ctx, "send", order).Get(ctx, &d)
	return d.Reference, err
}

// The answer of an activity's only effect is lost, so that Temporal tries it again;
// then the workflow is started anew, as a reset or another run does. In the SDK's own
// test environment, in which each execution is a run of its own, there is one effect.
func TestActivityThatIsTriedAgainInAnotherRunHasOneEffect(t *testing.T) {
	t.Parallel()
	sent := &enginetest.Parcels{}
	once := send(sent.Ledger(t), sent)
	for range 3 {
		env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
		env.SetTestTimeout(time.Minute)
		env.RegisterWorkflow(place)
		env.RegisterActivityWithOptions(once, activity.RegisterOptions{Name: "send"})
		env.ExecuteWorkflow(place, "o-17")
		var got string
		if err := errors.Join(env.GetWorkflowError(), env.GetWorkflowResult(&got)); err != nil || got != "o-17" {
			t.Fatalf("the workflow ended with %q, %v", got, err)
		}
	}
	if n := sent.Sent("o-17"); n != 1 {
		t.Errorf("%d parcels were sent", n)
	}
}
