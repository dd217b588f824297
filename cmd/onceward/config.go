package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/onceward/onceward"
)

// config is what a command needs to know: flags over ONCEWARD_* variables over
// onceward.yaml. Names are the same everywhere: --db, ONCEWARD_DB, db.
type config struct {
	DB        string        `yaml:"db"`
	Listen    string        `yaml:"listen"`
	Contracts []string      `yaml:"contracts"`
	Server    string        `yaml:"server"`
	Token     string        `yaml:"token"`
	TokenFile string        `yaml:"token_file"`
	Auth      string        `yaml:"auth"`
	TLSCert   string        `yaml:"tls_cert"`
	TLSKey    string        `yaml:"tls_key"`
	Proxied   bool          `yaml:"behind_tls_proxy"`
	Hosts     []string      `yaml:"hosts"`
	OIDC      *oidcConfig   `yaml:"oidc"`
	Drain     time.Duration `yaml:"drain"`
	LogLevel  string        `yaml:"log_level"`
	Audit     auditConfig   `yaml:"audit"`
	Keep      keepConfig    `yaml:"keep"`
	SignOff   string        `yaml:"sign_off"`
	MCP       mcpConfig     `yaml:"mcp"`
	Console   consoleConfig `yaml:"console"`
	Metrics   string        `yaml:"metrics_listen"`
	Monitor   time.Duration `yaml:"monitor"`
	Sinks     []sinkConfig  `yaml:"sinks"`
	Witness   string        `yaml:"witness"`
	Keys      keysConfig    `yaml:"keys"`
}

// The defaults.
const (
	defaultConfigFile = "onceward.yaml"
	defaultDB         = "onceward.db"
	defaultListen     = "127.0.0.1:8686"
	defaultServer     = "http://127.0.0.1:8686"
	defaultDrain      = 30 * time.Second
	defaultMonitor    = time.Minute
)

func dbFlag(c *cobra.Command) {
	c.Flags().String("db", defaultDB, "ledger: sqlite:PATH, a path, or postgres://… (ONCEWARD_DB)")
}

func witnessFlag(c *cobra.Command) {
	c.Flags().String("witness", "", "file that remembers the newest dispatches, so that an older ledger is found out; default beside a SQLite ledger; none: off (ONCEWARD_WITNESS)")
}

// noWitness is the word for none.
const noWitness = "none"

// witnessFile is where the witness is; empty: there is none.
func (cfg *config) witnessFile() string {
	switch path, postgres := strings.TrimPrefix(cfg.DB, "sqlite:"), strings.Contains(cfg.DB, "://"); {
	case cfg.Witness == noWitness, cfg.Witness == "" && postgres:
		return ""
	case cfg.Witness == "":
		return path + ".witness"
	}
	return cfg.Witness
}

func serverFlag(c *cobra.Command) {
	c.PersistentFlags().String("server", defaultServer, "server to ask (ONCEWARD_SERVER)")
	c.PersistentFlags().String("token", "", "token to ask with; ONCEWARD_TOKEN or a file keeps it out of process lists")
	c.PersistentFlags().String("token-file", "", "file with the token, for its owner only (ONCEWARD_TOKEN_FILE)")
}

func contractsFlag(c *cobra.Command) {
	c.Flags().StringSlice("contracts", nil, "contract files or folders (ONCEWARD_CONTRACTS, comma-separated)")
}

// loadConfig merges the three sources. Only the flags that a command declares
// are looked at.
func loadConfig(c *cobra.Command) (config, error) {
	cfg := config{DB: defaultDB, Listen: defaultListen, Server: defaultServer, Drain: defaultDrain, Monitor: defaultMonitor, LogLevel: "info", Auth: authAuto}
	if err := cfg.readFile(c); err != nil {
		return cfg, err
	}
	if err := cfg.readEnv(os.Getenv); err != nil {
		return cfg, err
	}
	return cfg, cfg.readFlags(c.Flags())
}

func (cfg *config) readFile(c *cobra.Command) error {
	name, err := c.Flags().GetString("config")
	if err != nil {
		return err
	}
	wanted := name != ""
	if !wanted {
		name = defaultConfigFile
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !wanted {
		return nil
	}
	if err != nil {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: fmt.Sprintf("%s cannot be read", name), Err: err}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(cfg); err != nil {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: name + ": " + yaml.FormatError(err, false, false),
			Hint: "the members are " + strings.Join(configMembers(), ", ")}
	}
	return nil
}

// configMembers are those of the configuration file.
func configMembers() (names []string) {
	of := reflect.TypeFor[config]()
	for i := range of.NumField() {
		names = append(names, of.Field(i).Tag.Get("yaml"))
	}
	return names
}

// texts are the texts that a flag or its variable may give, by the flag's name.
func (cfg *config) texts() map[string]*string {
	return map[string]*string{
		"db": &cfg.DB, "listen": &cfg.Listen, "server": &cfg.Server, "token": &cfg.Token, "token-file": &cfg.TokenFile, "auth": &cfg.Auth, "tls-cert": &cfg.TLSCert, "tls-key": &cfg.TLSKey,
		"log-level": &cfg.LogLevel, "audit-key": &cfg.Audit.Key, "sign-off": &cfg.SignOff, "metrics-listen": &cfg.Metrics, "witness": &cfg.Witness, "keys": &cfg.Keys.Master,
		"shredded": &cfg.Keys.Shredded, "export": &cfg.Keep.Export,
	}
}

// durations is texts for durations.
func (cfg *config) durations() map[string]*time.Duration {
	return map[string]*time.Duration{"drain": &cfg.Drain, "monitor": &cfg.Monitor, "keep-audit": &cfg.Keep.Audit, "keep-runs": &cfg.Keep.Runs, "keep-documents": &cfg.Keep.Documents, "keep-replays": &cfg.Keep.Replays}
}

// variable is the environment's name for a flag.
func variable(flag string) string {
	return "ONCEWARD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (cfg *config) readEnv(get func(string) string) error {
	for name, dst := range cfg.texts() {
		if v := get(variable(name)); v != "" {
			*dst = v
		}
	}
	if v := get("ONCEWARD_CONTRACTS"); v != "" {
		cfg.Contracts = strings.Split(v, ",")
	}
	if v := get("ONCEWARD_HOSTS"); v != "" {
		cfg.Hosts = strings.Split(v, ",")
	}
	if v := get("ONCEWARD_BEHIND_TLS_PROXY"); v != "" {
		if v != "true" && v != "false" {
			return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: "ONCEWARD_BEHIND_TLS_PROXY is neither true nor false"}
		}
		cfg.Proxied = v == "true"
	}
	for name, dst := range cfg.durations() {
		v := get(variable(name))
		if v == "" {
			continue
		}
		d, err := time.ParseDuration(v)
		if err != nil {
			return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read configuration", Message: variable(name) + " is not a duration", Hint: "write 30s or 1m"}
		}
		*dst = d
	}
	return nil
}

func (cfg *config) readFlags(flags *pflag.FlagSet) error {
	for name, dst := range cfg.texts() {
		if f := flags.Lookup(name); f != nil && f.Changed {
			*dst = f.Value.String()
		}
	}
	if f := flags.Lookup("contracts"); f != nil && f.Changed {
		v, err := flags.GetStringSlice("contracts")
		if err != nil {
			return err
		}
		cfg.Contracts = v
	}
	if f := flags.Lookup("hosts"); f != nil && f.Changed {
		v, err := flags.GetStringSlice("hosts")
		if err != nil {
			return err
		}
		cfg.Hosts = v
	}
	if f := flags.Lookup("behind-tls-proxy"); f != nil && f.Changed {
		cfg.Proxied = f.Value.String() == "true"
	}
	for name, dst := range cfg.durations() {
		if f := flags.Lookup(name); f != nil && f.Changed {
			v, err := flags.GetDuration(name)
			if err != nil {
				return err
			}
			*dst = v
		}
	}
	return nil
}
