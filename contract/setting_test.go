package contract

import (
	"slices"
	"strings"
	"testing"
)

// Whoever reads the settings sees what holds where the file says nothing.
func TestSettingsShowEveryDefaultInForce(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, "  effect: unsafe_write\n  request: {method: POST, url: '${env.API_URL}/x', deadline: 20s}\n  keep: {record: 10d}\n")
	settings := tool.Settings()
	for want, isDefault := range map[string]bool{
		"effect unsafe_write": false, "request.deadline 20s": false, "keep.record 10d": false,
		"keep.tombstone forever": true, "keep.input full": true, "keep.result full": true, "keep.retired_key refuse": true,
		"answer.judge_bytes 16MiB": true, "answer.keep_bytes 256KiB": true, "on_unknown review": true, "not_after no limit": true, "rate no bound": true,
		"retry.max_attempts 5": true, "retry.backoff.initial 1s": true, "retry.backoff.max 1m": true, "retry.recovery_window 1d": true,
		"lease 45s": true, "horizon 7d": true, "key given by the caller": true, "probe none": true, "approval none": true, "executor onceward": true,
		"hosts api.example.com": true, "repeat_runs_automations false": true,
	} {
		field, value, _ := strings.Cut(want, " ")
		i := slices.IndexFunc(settings, func(s Setting) bool { return s.Field == field })
		if i < 0 {
			t.Errorf("%s is not shown", field)
			continue
		}
		if s := settings[i]; s.Value != value || s.Default != isDefault || s.Meaning == "" {
			t.Errorf("%s is shown as %+v, want %q", field, s, value)
		}
	}
	for _, s := range settings {
		if s.Value == "" || s.Value == "0s" {
			t.Errorf("%s has no value that says anything: %+v", s.Field, s)
		}
	}
}

func TestSettingsDoNotShowWhatOnlyStandsIn(t *testing.T) {
	t.Parallel()
	opts := surroundings(nil, nil)
	opts.StandIns = true
	tools, err := Load([]byte(needy), "f.yaml", opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range tools[0].Settings() {
		if strings.Contains(s.Value, standInHost) {
			t.Errorf("%s is shown as %s", s.Field, s.Value)
		}
	}
}
