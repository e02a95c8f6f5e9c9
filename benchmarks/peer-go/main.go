// A webhook as it is usually written in Go: decode the review with apimachinery, decode the
// Shoot, check that every worker pool can have a node in each of its zones, answer.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

type worker struct {
	Name    string   `json:"name"`
	Minimum int32    `json:"minimum"`
	Maximum int32    `json:"maximum"`
	Zones   []string `json:"zones,omitempty"`
}

type shoot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Provider struct {
			Type    string   `json:"type"`
			Workers []worker `json:"workers,omitempty"`
		} `json:"provider"`
	} `json:"spec"`
}

var (
	scheme  = runtime.NewScheme()
	decoder runtime.Decoder
)

func init() {
	if err := admissionv1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	decoder = serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

func validate(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	var object shoot
	if err := json.Unmarshal(request.Object.Raw, &object); err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error())
	}
	for index, pool := range object.Spec.Provider.Workers {
		if pool.Maximum > 0 && int(pool.Maximum) < len(pool.Zones) {
			return refuse(http.StatusUnprocessableEntity, fmt.Sprintf(
				"spec.provider.workers[%d].maximum: must be at least %d", index, len(pool.Zones)))
		}
	}
	return &admissionv1.AdmissionResponse{Allowed: true}
}

func refuse(code int32, message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: code, Message: message}}
}

func handle(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	var review admissionv1.AdmissionReview
	if _, _, err := decoder.Decode(body, nil, &review); err != nil || review.Request == nil {
		http.Error(writer, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	response := validate(review.Request)
	response.UID = review.Request.UID
	answer, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: review.TypeMeta,
		Response: response,
	})
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.Write(answer)
}

// Arguments: certificate and key. The port is printed when the server listens.
func main() {
	pair, err := tls.LoadX509KeyPair(os.Args[1], os.Args[2])
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	http.HandleFunc("/validate", handle)
	server := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	panic(server.ServeTLS(listener, "", ""))
}
