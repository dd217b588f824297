// Package kubernetes_test reads the manifests as an API server would, strictly.
package kubernetes_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ofOperator are files whose types are not Kubernetes' own.
const ofOperator = "servicemonitor.yaml"

// read decodes every document of a file; an unknown or doubled field fails.
func read(t *testing.T, file string) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []runtime.Object
	for docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, object)
	}
}

func one[T runtime.Object](t *testing.T, file string) T {
	t.Helper()
	object, ok := read(t, file)[0].(T)
	if !ok {
		t.Fatalf("%s holds something else", file)
	}
	return object
}

func TestEveryManifestIsWhatTheAPIServerKnows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("manifests: %v, %v", files, err)
	}
	for _, file := range files {
		if file != ofOperator {
			read(t, file)
		}
	}
}

func TestTheManifestsFitTogether(t *testing.T) {
	t.Parallel()
	d := one[*appsv1.Deployment](t, "deployment.yaml")
	pod := labels.Set(d.Spec.Template.Labels)
	ports := map[string]bool{}
	c := d.Spec.Template.Spec.Containers[0]
	for _, p := range c.Ports {
		ports[p.Name] = true
	}
	for _, object := range read(t, "service.yaml") {
		s := object.(*corev1.Service)
		if !labels.SelectorFromSet(s.Spec.Selector).Matches(pod) {
			t.Errorf("the service %s selects no pod", s.Name)
		}
		for _, p := range s.Spec.Ports {
			if !ports[p.TargetPort.String()] {
				t.Errorf("the service %s leads to %s, which no container has", s.Name, p.TargetPort.String())
			}
		}
	}
	budget := one[*policyv1.PodDisruptionBudget](t, "poddisruptionbudget.yaml")
	policy := one[*networkingv1.NetworkPolicy](t, "networkpolicy.yaml")
	if !labels.SelectorFromSet(budget.Spec.Selector.MatchLabels).Matches(pod) || !labels.SelectorFromSet(policy.Spec.PodSelector.MatchLabels).Matches(pod) {
		t.Error("the budget or the policy selects no pod")
	}
	if *d.Spec.Replicas != 2 || budget.Spec.MinAvailable.IntValue() != 1 {
		t.Error("two replicas, of which one stays")
	}
	stop := c.Lifecycle.PreStop.Sleep.Seconds + 30 // the argument --drain
	if *d.Spec.Template.Spec.TerminationGracePeriodSeconds <= stop {
		t.Errorf("it is killed before it has drained, which may take %d seconds", stop)
	}
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Error("a ledger that is away must not restart the process")
	}
	if !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation || !*d.Spec.Template.Spec.SecurityContext.RunAsNonRoot {
		t.Error("the container may more than it needs")
	}
}
