// Gardener's own scheduler and types, to compare with: what DetermineSeed chooses in a landscape,
// how many decisions it makes in a second, and a controller-runtime webhook on Gardener's Shoots.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	schedulerconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/scheduler/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/scheduler/controller/shoot"
)

type landscape struct {
	Strategy      string                           `json:"strategy"`
	Seeds         []gardencorev1beta1.Seed         `json:"seeds"`
	Shoots        []gardencorev1beta1.Shoot        `json:"shoots"`
	CloudProfiles []gardencorev1beta1.CloudProfile `json:"cloudProfiles"`
	ConfigMaps    []corev1.ConfigMap               `json:"configMaps"`
	Projects      []gardencorev1beta1.Project      `json:"projects"`
	Asks          []gardencorev1beta1.Shoot        `json:"asks"`
}

// memory answers from a landscape, with copies as controller-runtime's cache gives them.
type memory struct {
	client.Client
	landscape *landscape
}

func (m memory) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	profile, ok := obj.(*gardencorev1beta1.CloudProfile)
	if !ok {
		return fmt.Errorf("unexpected kind %T", obj)
	}
	for index := range m.landscape.CloudProfiles {
		if m.landscape.CloudProfiles[index].Name == key.Name {
			m.landscape.CloudProfiles[index].DeepCopyInto(profile)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "cloudprofiles"}, key.Name)
}

func (m memory) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	switch found := list.(type) {
	case *gardencorev1beta1.SeedList:
		found.Items = make([]gardencorev1beta1.Seed, len(m.landscape.Seeds))
		for index := range m.landscape.Seeds {
			m.landscape.Seeds[index].DeepCopyInto(&found.Items[index])
		}
	case *gardencorev1beta1.ShootList:
		found.Items = make([]gardencorev1beta1.Shoot, len(m.landscape.Shoots))
		for index := range m.landscape.Shoots {
			m.landscape.Shoots[index].DeepCopyInto(&found.Items[index])
		}
	case *corev1.ConfigMapList:
		for _, each := range m.landscape.ConfigMaps {
			if options.LabelSelector == nil || options.LabelSelector.Matches(labelled(each.Labels)) {
				found.Items = append(found.Items, *each.DeepCopy())
			}
		}
	case *gardencorev1beta1.ProjectList:
		for _, each := range m.landscape.Projects {
			if options.FieldSelector != nil {
				wanted, ok := options.FieldSelector.RequiresExactMatch("spec.namespace")
				if ok && (each.Spec.Namespace == nil || *each.Spec.Namespace != wanted) {
					continue
				}
			}
			found.Items = append(found.Items, *each.DeepCopy())
		}
	default:
		return fmt.Errorf("unexpected kind %T", list)
	}
	return nil
}

type labelled map[string]string

func (l labelled) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelled) Get(key string) string            { return l[key] }
func (l labelled) Lookup(key string) (string, bool) { value, ok := l[key]; return value, ok }

func reconciler(found *landscape) *shoot.Reconciler {
	strategy := schedulerconfigv1alpha1.CandidateDeterminationStrategy(found.Strategy)
	return &shoot.Reconciler{
		Client:          memory{landscape: found},
		Config:          &schedulerconfigv1alpha1.ShootSchedulerConfiguration{Strategy: strategy},
		GardenNamespace: "garden",
	}
}

type answer struct {
	Seed  string `json:"seed,omitempty"`
	Error string `json:"error,omitempty"`
}

func determine(asked *shoot.Reconciler, subject *gardencorev1beta1.Shoot) answer {
	seed, err := asked.DetermineSeed(context.Background(), logr.Discard(), subject)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Seed: seed.Name}
}

// place reads one landscape a line and prints the answers to its questions, one line each.
func place() error {
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder, encoder := json.NewDecoder(reader), json.NewEncoder(os.Stdout)
	for decoder.More() {
		found := &landscape{}
		if err := decoder.Decode(found); err != nil {
			return err
		}
		asked := reconciler(found)
		answers := make([]answer, len(found.Asks))
		for index := range found.Asks {
			answers[index] = determine(asked, &found.Asks[index])
		}
		if err := encoder.Encode(answers); err != nil {
			return err
		}
	}
	return nil
}

// bench decides for some seconds and prints how many decisions that were in one.
func bench(seconds float64) error {
	found := &landscape{}
	if err := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20)).Decode(found); err != nil {
		return err
	}
	asked := reconciler(found)
	determine(asked, &found.Asks[0])
	began, count := time.Now(), 0
	for time.Since(began).Seconds() < seconds || count == 0 {
		determine(asked, &found.Asks[count%len(found.Asks)])
		count++
	}
	fmt.Printf("%.3f\n", float64(count)/time.Since(began).Seconds())
	return nil
}

type workers struct{ decoder admission.Decoder }

func (w workers) Handle(_ context.Context, request admission.Request) admission.Response {
	object, old := &gardencorev1beta1.Shoot{}, &gardencorev1beta1.Shoot{}
	if err := w.decoder.Decode(request, object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if len(request.OldObject.Raw) > 0 {
		if err := w.decoder.DecodeRaw(request.OldObject, old); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	for index, pool := range object.Spec.Provider.Workers {
		if pool.Maximum > 0 && int(pool.Maximum) < len(pool.Zones) {
			return admission.Denied(fmt.Sprintf(
				"spec.provider.workers[%d].maximum: must be at least %d", index, len(pool.Zones)))
		}
	}
	return admission.Allowed("")
}

// serve is a webhook as controller-runtime makes it; arguments: folder of certificates, port.
func serve(folder string, port string) error {
	scheme := runtime.NewScheme()
	if err := gardencorev1beta1.AddToScheme(scheme); err != nil {
		return err
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: number, CertDir: folder})
	server.Register("/validate", &webhook.Admission{Handler: workers{admission.NewDecoder(scheme)}})
	return server.Start(context.Background())
}

func main() {
	logf.SetLogger(logr.Discard())
	var err error
	switch command := strings.Join(os.Args[1:2], ""); command {
	case "place":
		err = place()
	case "bench":
		var seconds float64
		if seconds, err = strconv.ParseFloat(os.Args[2], 64); err == nil {
			err = bench(seconds)
		}
	case "webhook":
		err = serve(os.Args[2], os.Args[3])
	default:
		err = fmt.Errorf("place, bench SECONDS or webhook FOLDER PORT, not %q", command)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
