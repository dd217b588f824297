// Command brokerd runs a message broker on loopback, for tests: brokerd nats PORT
// DIR is a NATS server with JetStream, brokerd kafka PORT DIR is kfake, which
// speaks Kafka's protocol and is not Kafka. Both keep what they acknowledge in
// DIR. It is a module of its own, so that no program carries a broker.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "brokerd:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("brokerd nats|kafka PORT DIR")
	}
	port, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	stop, err := map[string]func(int, string) (func(), error){"nats": nats, "kafka": kafka}[args[0]](port, args[2])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	<-end
	stop()
	return nil
}

func nats(port int, dir string) (func(), error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return nil, fmt.Errorf("the NATS server does not come up")
	}
	return s.Shutdown, nil
}

func kafka(port int, dir string) (func(), error) {
	c, err := kfake.NewCluster(kfake.Ports(port), kfake.DataDir(dir), kfake.SyncWrites(), kfake.SeedTopics(4, "events"), kfake.AllowAutoTopicCreation())
	if err != nil {
		return nil, err
	}
	return c.Close, nil
}
