# Needs make and Go; the tests also npm and Node 20 or newer. `make help` lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help

GOLANGCI_LINT ?= go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 60s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/countersign
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/countersign ./cmd/countersign

.PHONY: demo
demo: ## Play the product in the browser, without Slack and without a model
	go run ./cmd/countersign demo

.PHONY: test
test: ## Run every test; what the tests need is found, started or installed
	scripts/test.sh

.PHONY: check
check: format vet tidy arch lint race checkers ## What a change must pass: everything below

.PHONY: format
format: ## Files are formatted by gofmt
	@files=$$(git ls-files '*.go' | xargs -r gofmt -s -l); \
	if [ -n "$$files" ]; then echo "gofmt -s -w would change:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: tidy
tidy: ## go.mod and go.sum are tidy
	go mod tidy -diff

.PHONY: arch
arch: ## Import rules, package state, budget, documented dependencies
	go test -count=1 ./internal/archtest

.PHONY: lint
lint: ## golangci-lint (its first build takes minutes)
	$(GOLANGCI_LINT) run

.PHONY: race
race: ## Every test once more with the race detector, in random order
	scripts/test.sh -race -shuffle=on -count=1

.PHONY: generate
generate: ## Write the generated files anew (the tests compare them)
	scripts/generate.sh

CHECKERS ?= $(HOME)/.cache/countersign-checkers

.PHONY: checkers
checkers: ## Ask Helm, Compose, Kubernetes' types and an OpenTelemetry Collector, which are built first
	COUNTERSIGN_CHECKERS=$(CHECKERS) PACKAGES="./deploy ./cmd/countersign" scripts/test.sh -run 'Helm|Kubernetes|Compose|Collector'

.PHONY: soak
soak: ## Long proofs: thousands of histories with deaths, a hundred thousand overdue approvals, replicas killed for five minutes
	COUNTERSIGN_KILLS=5m PACKAGES=./cmd/countersign scripts/test.sh -run TestReplicasAreKilledUnderLoad -timeout 30m
	COUNTERSIGN_SIZING=400 PACKAGES=./cmd/countersign scripts/test.sh -run TestSizing -timeout 10m
	COUNTERSIGN_HISTORIES=10000 PACKAGES=./agent scripts/test.sh -run TestHistories -timeout 150m
	COUNTERSIGN_HISTORIES=1000 PACKAGES=./internal/app scripts/test.sh -run TestManyHands -timeout 150m
	COUNTERSIGN_OVERDUE=100000 PACKAGES=./internal/app scripts/test.sh -run TestOverdueInBatches -timeout 60m
	COUNTERSIGN_SOAK=10m PACKAGES=./bot scripts/test.sh -run TestSoak -timeout 60m

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (60s)
	scripts/fuzz.sh $(FUZZTIME)
