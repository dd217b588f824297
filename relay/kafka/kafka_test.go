package kafka_test

import (
	"testing"

	"github.com/IBM/sarama"

	"github.com/onceward/onceward/relay/kafka"
)

func TestGroupMissesADeadMemberBeforeTheClientGivesItsJoinUp(t *testing.T) {
	t.Parallel()
	asked := false
	_, _ = kafka.NewSubscriber(kafka.SubscriberOptions{Group: "billing", Configure: func(c *sarama.Config) { // there is no broker: the configuration is what counts
		asked = true
		if group, client := c.Consumer.Group.Rebalance.Timeout, c.Net.ReadTimeout; group >= client {
			t.Errorf("the group waits %s for a member that died, and the client %s for the group", group, client)
		}
	}})
	if !asked {
		t.Error("nobody was asked for the configuration")
	}
}
