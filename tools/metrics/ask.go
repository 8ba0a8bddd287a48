package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"countersign/tools"
	"countersign/tools/outbound"
)

// reply is the envelope of Prometheus's HTTP API, version 1.
type reply struct {
	Status    string   `json:"status"`
	ErrorType string   `json:"errorType"`
	Error     string   `json:"error"`
	Warnings  []string `json:"warnings"`
	Infos     []string `json:"infos"`
	Data      struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// series is one line of the answer.
type series struct {
	Metric     map[string]string `json:"metric"`
	Value      *sample           `json:"value"`
	Values     []sample          `json:"values"`
	Histogram  json.RawMessage   `json:"histogram"`
	Histograms json.RawMessage   `json:"histograms"`
}

// sample is a value at a moment. The value stays as Prometheus writes it.
type sample struct {
	at    time.Time
	value string
}

// UnmarshalJSON reads [seconds, "value"].
func (s *sample) UnmarshalJSON(raw []byte) error {
	var seconds float64
	pair := []any{&seconds, &s.value}
	if err := json.Unmarshal(raw, &pair); err != nil {
		return err
	}
	s.at = time.UnixMilli(int64(seconds * 1000)).UTC()
	return nil
}

// number is the value to compute with; what cannot be read is not a number.
func (s sample) number() float64 {
	f, err := strconv.ParseFloat(s.value, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// answer is what Prometheus said.
type answer struct {
	kind     string // vector, matrix, scalar or string
	series   []series
	warnings []string
}

// ask sends one request. Every error is a *tools.Failure: a query changes nothing.
func (s *server) ask(ctx context.Context, p plan) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address(p), http.NoBody)
	if err != nil {
		return answer{}, unavailable(err)
	}
	req.Header.Set("Accept", "application/json")
	for name, value := range s.headers {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, unavailable(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return answer{}, unavailable(err)
	}
	if len(body) > maxBytes {
		return answer{}, &tools.Failure{Code: "too_large", Message: fmt.Sprintf(
			"The answer is larger than %d MiB. Ask for less: aggregate with sum or topk, narrow the labels, or take a longer step.", maxBytes>>20)}
	}
	return read(resp.StatusCode, body)
}

func (s *server) address(p plan) string {
	form := url.Values{"query": {p.query}, "timeout": {s.timeout.String()}}
	path := "api/v1/query"
	if p.step > 0 {
		path = "api/v1/query_range"
		form.Set("start", stamp(p.from))
		form.Set("end", stamp(p.at))
		form.Set("step", strconv.FormatFloat(p.step.Seconds(), 'f', -1, 64))
	} else {
		form.Set("time", stamp(p.at))
	}
	u := s.base.JoinPath(path)
	u.RawQuery = form.Encode()
	return u.String()
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

func unavailable(err error) *tools.Failure {
	plain := outbound.Plain(err)
	code := "unavailable"
	switch {
	case errors.Is(plain, context.DeadlineExceeded), errors.Is(plain, context.Canceled):
		code = "timeout"
	case errors.Is(plain, outbound.ErrForbidden):
		code = "forbidden"
	}
	return &tools.Failure{Code: code, Message: "Prometheus did not answer: " + plain.Error() + "."}
}

// read takes an answer apart.
func read(status int, body []byte) (answer, error) {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil || r.Status != "success" && r.Error == "" {
		return answer{}, &tools.Failure{Code: "http_" + strconv.Itoa(status), Message: fmt.Sprintf("The address answered HTTP status %d, and not as Prometheus does.", status)}
	}
	if r.Status != "success" {
		return answer{}, &tools.Failure{Code: errorCode(r.ErrorType), Message: "Prometheus refused the query: " + clean(r.Error, 1000)}
	}
	a := answer{kind: r.Data.ResultType, warnings: append(r.Warnings, r.Infos...)}
	if err := a.fill(r.Data.Result); err != nil {
		return answer{}, &tools.Failure{Code: "bad_answer", Message: "The answer of Prometheus cannot be read."}
	}
	return a, nil
}

// errorCode keeps Prometheus's kinds of errors apart from whatever else stands there.
func errorCode(kind string) string {
	switch kind {
	case "bad_data", "execution", "timeout", "canceled", "internal", "unavailable", "not_found":
		return kind
	}
	return "refused"
}

func (a *answer) fill(raw json.RawMessage) error {
	switch a.kind {
	case "vector", "matrix":
		return json.Unmarshal(raw, &a.series)
	case "scalar", "string":
		var value sample
		err := json.Unmarshal(raw, &value)
		a.series = []series{{Value: &value}}
		return err
	}
	return errors.New("unknown kind of result")
}
