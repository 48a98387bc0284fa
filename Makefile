# The two commands are: make demo (shows the promise kept) and make test (checks everything).
GO ?= go
export CGO_ENABLED ?= 0

.PHONY: demo test torture build bench bench-memory fuzz generate clean

demo: build ## the main job on embedded SQLite; needs Go and make only
	./bin/onceward demo

build:
	$(GO) build -trimpath -o bin/onceward ./cmd/onceward

test: ## everything that must hold; installs what it needs when root on Debian
	./scripts/test

torture: ## every fault, at length: the explorer's large bound, kills at every gap; writes docs/reliability.md
	./scripts/torture

bench: build ## measures against baselines in the same run and writes docs/performance.md
	$(GO) run ./bench -gateway ./bin/onceward

bench-memory: build ## the same with five million events remembered (ten minutes, 10 GB); writes docs/performance-memory.md
	$(GO) run ./bench -gateway ./bin/onceward -only P7,P10,P11 -million 5 -out docs/performance-memory.md

fuzz: ## a minute for each fuzz target
	./scripts/fuzz 60s

generate: ## rewrites what is generated
	$(GO) generate ./...

clean:
	rm -rf bin
