package httpapi

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// filler fills wire types with what is hard to write.
type filler struct{ *rand.Rand }

var hardTexts = []string{"", "plain", `quote " and \ back`, "line\nbreak\ttab\x01\x7f", "<a href='x'>&", "日本", "\u2028\u2029", "\xff broken", "a\u00a0b\U0001F600"}

var hardJSON = []json.RawMessage{nil, json.RawMessage(`{"a": [1, 2.50, "\u003c <&> \u2028"]}`), json.RawMessage(` null `), json.RawMessage(`"日本 \/"`)}

func (f filler) fill(v reflect.Value, depth int) {
	switch {
	case v.Type() == timeType:
		v.Set(reflect.ValueOf([]time.Time{{}, time.Unix(f.Int64N(1<<32), f.Int64N(1e9)).UTC(), time.Unix(1e9, 0).UTC(), time.Unix(1e9, 5e8).In(time.FixedZone("", -5400))}[f.IntN(4)]))
		return
	case v.Type() == rawJSONType:
		v.SetBytes(hardJSON[f.IntN(len(hardJSON))])
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hardTexts[f.IntN(len(hardTexts))])
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 1 << 40}[f.IntN(4)])
	case reflect.Float64:
		v.SetFloat([]float64{0, 1.5, 1e30}[f.IntN(3)])
	case reflect.Pointer:
		if depth > 0 && f.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		if n := f.IntN(4) - 1; depth > 0 && n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				f.fill(v.Index(i), depth-1)
			}
		}
	case reflect.Map:
		if n := f.IntN(4) - 1; depth > 0 && n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				f.fill(key, depth-1)
				f.fill(value, depth-1)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				f.fill(v.Field(i), depth)
			}
		}
	default:
	}
}

func TestAnswersAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	t.Parallel()
	types := []reflect.Type{reflect.TypeFor[Problem](), reflect.TypeFor[[]byte](), reflect.TypeFor[map[string]any](), reflect.TypeFor[float64]()}
	for i := range routes {
		for _, a := range routes[i].Answers {
			if typ := reflect.TypeOf(a.Body); typ != nil && !slices.Contains(types, typ) {
				types = append(types, typ)
			}
		}
	}
	f := filler{rand.New(rand.NewPCG(1, 2))}
	for _, typ := range types {
		for range 200 {
			v := reflect.New(typ)
			f.fill(v.Elem(), 5)
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v.Interface()); err != nil {
				t.Fatal(err)
			}
			if got := append(appenderOf(v.Type())(nil, v), '\n'); !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%s is\n%swant\n%s", typ, got, want.Bytes())
			}
		}
	}
}

// Small answers leave their length to net/http: it has to be told all the same.
func TestAnswersTellTheirLength(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n, err := strconv.Atoi(req.URL.RawQuery)
		if err != nil {
			t.Error(err)
		}
		writeJSON(w, http.StatusOK, mediaJSON, strings.Repeat("x", n-len("\"\"\n")))
	}))
	t.Cleanup(srv.Close)
	for _, n := range []int{3, 100, countedBytesMax - 1, countedBytesMax, countedBytesMax + 1, 3 * countedBytesMax} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"?"+strconv.Itoa(n), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.ContentLength != int64(n) || res.TransferEncoding != nil {
				t.Errorf("%s of %d bytes: length %d, transfer encoding %q", method, n, res.ContentLength, res.TransferEncoding)
			}
		}
	}
}
