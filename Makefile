# Shortcuts. Nothing here is needed: README.md's two commands are plain go commands.

.DEFAULT_GOAL := help

GO      ?= go
NODES   ?= 5000
FUZZ    ?= 60s
COUNT   ?= 10
SCHEDULES ?= 500
SEED    ?= 1
CHROMIUM ?= chromium

.PHONY: help
help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/simctl
	$(GO) build -o bin/simctl ./cmd/simctl

.PHONY: run
run: build ## run the main job: heartbeat-storm with NODES=5000 clients
	bin/simctl scenario heartbeat-storm --nodes $(NODES)

.PHONY: check
check: ## run everything that CI runs
	.ci/run

.PHONY: test
test: ## run all tests
	$(GO) test ./...

.PHONY: race
race: ## run the tests of goroutines and locks under the race detector
	$(GO) test -race ./broker $$($(GO) list ./cluster/... | grep -Ev "explore|planless") ./nodesim/...

.PHONY: bench
bench: ## run the broker's benchmarks COUNT=10 times and summarise them with benchstat
	@mkdir -p results
	$(GO) test -run '^$$' -bench 'Enqueue|DequeueAck|EvalService' -benchtime 1000000x -benchmem -count $(COUNT) ./broker ./cluster/internal/leader | tee results/bench.txt
	$(GO) test -run '^$$' -bench ShedMillion -benchtime 20x -benchmem -count $(COUNT) ./broker | tee -a results/bench.txt
	$(GO) tool benchstat results/bench.txt

.PHONY: bench-all
bench-all: ## run every benchmark once, the whole main job among them
	$(GO) test -run '^$$' -bench . -benchtime 1x -benchmem ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZ=60s
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) -fuzzminimizetime 20x $$pkg; \
		done; \
	done

# The packages whose bugs would make verdicts wrong.
PKG     ?= ./broker ./cluster/state ./cluster/scheduler ./cluster/internal/config ./cluster/internal/cpu ./cluster/internal/fsm \
	./cluster/internal/leader ./cluster/internal/raftnode ./cluster/internal/server ./nodesim ./metrics ./scenarios/internal/judge
MUTANTS ?= 200

.PHONY: mutants
mutants: ## plant MUTANTS=200 bugs, drawn by SEED=1, in each package of PKG=..., and write those that no test notices to results
	@set -e; for pkg in $(PKG); do nice $(GO) run ./internal/mutants -pkg $$pkg -sample $(MUTANTS) -seed $(SEED); done

# Each day has schedules of its own.
SHAKEN_SEED ?= $(shell date +%y%m%d)000

.PHONY: shaken
shaken: ## run the catalogue, schedules of faults and simctl soak while goroutines are interrupted at random
	@dir=$$(mktemp -d) && trap 'rm -rf $$dir' EXIT && $(GO) run ./internal/shaken "$$($(GO) env GOROOT)" $$dir && \
	$(GO) test -overlay $$dir/overlay.json -count=1 ./scenarios -run 'TestDigests|TestARunWithFaultsRepeats' && \
	$(GO) build -overlay $$dir/overlay.json -o $$dir/simctl ./cmd/simctl && \
	for cost in published testdata/validation/eighth/machine.hcl testdata/validation/second/machine.hcl testdata/validation/second/machine-2.0.5.hcl; do \
		$$dir/simctl soak --seed $(SHAKEN_SEED) --schedules 30 --repeats 3 --broker legacy,2.0.5 --cost $$cost || exit 1; \
	done

.PHONY: nightly
nightly: ## run the tests in full, make shaken, every fuzz target for five minutes, and make mutants
	$(GO) test -tags nightly,programs -timeout 1h ./...
	$(MAKE) shaken
	$(MAKE) fuzz FUZZ=5m
	$(MAKE) mutants

.PHONY: golden
golden: ## rewrite every golden file from what the code does now; look at the diff
	$(GO) test ./reports ./cmd/simctl ./internal/mutants -update
	$(GO) test ./broker ./broker/explore ./cluster/internal/leader ./cluster/explore -rewrite
	$(GO) test ./scenarios -run Digests -rewrite

.PHONY: gallery
gallery: build ## run the main job and redraw the pictures of docs/gallery
	bin/simctl scenario heartbeat-storm --nodes $(NODES) --out results/gallery
	cp results/gallery/*.png docs/gallery/
	bin/simctl scenario heartbeat-storm --nodes 1000 --service-jobs 20 --allocs-per-node 4 --fraction 0.3 --out results/gallery-survivors
	cp results/gallery-survivors/waterfall.png docs/gallery/survivors/
	bin/simctl sweep heartbeat-storm --vary nodes=200,400,800 --vary schedulers=1,2,4 --out results/gallery-sweep
	for name in docs/gallery/sweep/*.png; do cp results/gallery-sweep/$$(basename $$name) $$name || exit 1; done
	@if command -v $(CHROMIUM) >/dev/null; then \
		$(CHROMIUM) --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000 --window-size=1200,1480 \
			--screenshot=docs/gallery/report.png "file://$(CURDIR)/results/gallery/report.html" 2>/dev/null; \
	else echo "no $(CHROMIUM): docs/gallery/report.png stays as it is"; fi

# What one setting at a time does to recovery; docs/study/README.md says what came out. At
# 20,000 nodes a run takes half a minute and 2 GB, and one under the old broker two minutes: there
# are fewer values, and the old broker runs at the defaults alone.
STUDY_NODES ?= 1000
STUDY_SEEDS ?= 3
STUDY       := docs/study/$(STUDY_NODES)
ifeq ($(STUDY_NODES),20000)
STUDY_VARY  ?= --vary shedding:schedulers=1,8 --vary shedding:reaper_batch=91,2912 --vary shedding:reaper_interval_s=0.5,20 \
	--vary shedding:max_heartbeats_per_second=25,200 --vary shedding:heartbeat_grace_s=60
else
STUDY_VARY  ?= --vary schedulers=1,2,4,8 --vary reaper_batch=91,364,728,2912,7280 --vary reaper_interval_s=0.5,2,5,20 \
	--vary max_heartbeats_per_second=25,50,100,200 --vary heartbeat_grace_s=5,10,30,60
endif

.PHONY: study
study: build ## run the study of server settings at STUDY_NODES=1000 nodes and redraw docs/study
	@mkdir -p results $(STUDY)
	bin/simctl sweep heartbeat-storm --var nodes=$(STUDY_NODES) --one-at-a-time --seeds $(STUDY_SEEDS) $(STUDY_VARY) \
		--out results/study-$(STUDY_NODES) --format markdown > results/study.md
	mv results/study.md $(STUDY)/summary.md
	cp results/study-$(STUDY_NODES)/sweep.csv results/study-$(STUDY_NODES)/sweep-*-recovery_s-*.png $(STUDY)/

# Designs side by side; docs/designs/README.md says what came out.
DESIGN_NODES   ?= 1000
DESIGN_BROKERS ?= $$(bin/simctl designs --brokers),$(DESIGN_SETS)
DESIGN_SETS    ?= shedding+reap-until-empty+restore-best+gather-downs+batch-updates,work-queue+gather-downs
DESIGN_RESULTS ?= $(patsubst %,results/designs/%,$(DESIGN_NODES))

.PHONY: designs
designs: build ## compare all designs at DESIGN_NODES=1000 nodes in three scenarios, and write the table and the charts of docs/designs
	$(foreach nodes,$(DESIGN_NODES),$(foreach scenario,heartbeat-storm flapping failover-mid-drain,\
		{ bin/simctl scenario $(scenario) --nodes $(nodes) --broker $(DESIGN_BROKERS) \
			--out results/designs/$(nodes)/$(scenario) --quiet > /dev/null || test $$? = 3; } &&)) \
	$(GO) run ./internal/designdocs docs/designs $(DESIGN_RESULTS)

# Pipelines of several depths, before and after #28452; docs/designs/pipeline.md says what came out.
.PHONY: pipelines
pipelines: build ## compare pipelines of 1 to 16 plans in a ramp, and write the table and the chart of docs/designs/pipeline.md
	bin/simctl scenario submit-ramp --nodes 50 --rising-to 1500 --seconds 20 --p99-s 3 --schedulers 16 \
		--broker $$(printf '2.0.5+pipeline-%s,' 1 2 4 8 16 1+nack-unseen 2+nack-unseen 4+nack-unseen 8+nack-unseen)2.0.5+pipeline-16+nack-unseen \
		--out results/pipelines --quiet > /dev/null
	$(GO) run ./internal/designdocs pipelines docs/designs results/pipelines

# Servers without a leader beside three brokers; docs/designs/streams.md says what came out. With
# 5000 in STREAM_NODES it takes some minutes of processor time.
STREAM_NODES ?= 1000

.PHONY: streams
streams: build ## run the storm on servers without a leader, on NATS JetStream, at STREAM_NODES=1000 nodes, and write docs/designs/streams.md
	$(foreach nodes,$(STREAM_NODES),\
		bin/simctl scenario heartbeat-storm --nodes $(nodes) --broker legacy,shedding,work-queue --out results/streams/$(nodes) --quiet > /dev/null && \
		$(GO) run ./internal/streamruns -nodes $(nodes) -out results/streams/$(nodes) &&) \
	$(GO) run ./internal/streamruns -page docs/designs/streams.md $(patsubst %,results/streams/%,$(STREAM_NODES))

PLANLESS_NODES ?= 1000 300

.PHONY: planless
planless: ## simulate schedulers without a central planner at PLANLESS_NODES="1000 300" nodes, and write docs/designs/planless.md
	$(GO) run ./internal/planlessdocs docs/designs/planless.md $(PLANLESS_NODES)

# What a run costs by its size; docs/performance.md says what came out. One run at a time,
# and nothing else on the machine.
GROWTH_nodes       ?= heartbeat-storm --vary nodes=500,1000,2000,4000,8000
GROWTH_jobs        ?= heartbeat-storm --var nodes=1000 --vary system_jobs=2,5,10,20,40
GROWTH_servers     ?= heartbeat-storm --var nodes=1000 --vary servers=1,3,5,7,9
GROWTH_evaluations ?= incident --var nodes=500 --vary evaluations=12500,25000,50000,100000,200000

.PHONY: growth
growth: build ## measure time and memory by nodes, jobs, servers and evaluations, and redraw docs/performance
	$(foreach by,nodes jobs servers evaluations,\
		bin/simctl sweep $(GROWTH_$(by)) --parallel 1 --metric host.cpu_s --metric host.peak_rss_bytes --out results/growth-$(by) && \
		mkdir -p docs/performance/$(by) && cp results/growth-$(by)/summary.md results/growth-$(by)/sweep-*.png docs/performance/$(by)/ &&) true

.PHONY: scenario-docs
scenario-docs: ## run every scenario's example, a few minutes, and write docs/scenarios
	$(GO) run ./internal/scenariodocs docs/scenarios

.PHONY: validate
validate: ## hold the simulation against published figures and runs of real servers, and write docs/validation
	@mkdir -p docs/validation
	$(GO) run ./internal/validationdocs testdata/validation docs/validation

.PHONY: site
site: ## turn the documents into a site of static pages, results/site/index.html
	rm -rf results/site
	$(GO) run ./internal/docsite results/site

.PHONY: licences
licences: ## write docs/licences.md, the licences of all dependencies
	$(GO) run ./internal/bom licences docs/licences.md

.PHONY: sbom
sbom: build ## write results/simctl.cdx.json, a bill of materials (CycloneDX) of bin/simctl
	@mkdir -p results
	$(GO) run ./internal/bom sbom bin/simctl results/simctl.cdx.json

# Without the network, take the database from a clone of github.com/golang/vulndb:
# VULNDB=file:///CLONE/data/osv. The vulnerabilities of Go itself are those of the go command's version.
VULNDB ?= https://vuln.go.dev

.PHONY: vuln
vuln: ## look for known vulnerabilities that simctl, its tests or its tools can reach
	$(GO) tool govulncheck -db $(VULNDB) -test ./...

.PHONY: vuln-facts
vuln-facts: ## renew what tests know of vulnerable dependencies; VULNDB=file:///CLONE/data/osv
	$(GO) run ./internal/bom vulns $(patsubst file://%,%,$(VULNDB)) internal/bom/vulns.txt

.PHONY: soak
soak: build ## run SCHEDULES=500 random schedules of faults, from SEED=1 on, under both brokers
	bin/simctl soak --schedules $(SCHEDULES) --seed $(SEED)

# More processes than processors, and an environment that differs from run to run, in which Go or simctl itself (own) collects
# the garbage: the same seed must give the same digest.
REPEAT ?= incident --nodes 40 --evaluations 20000 --broker legacy

.PHONY: repeat
repeat: build ## run a scenario, REPEAT="NAME FLAGS...", 20 times, 4 at a time; all must have one digest
	rm -rf results/repeat
	for procs in 1 2 4 8 16; do for gc in 20 100 off own; do echo $$procs $$gc; done; done | xargs -P 4 -L 1 sh -c \
		'GOMAXPROCS=$$0 GOGC=$${1#own} bin/simctl scenario $(REPEAT) --quiet --out results/repeat/$$0-$$1 > /dev/null'
	for file in results/repeat/*/*.json; do echo "$${file##*/} $$(bin/simctl digest $$file)"; done | sort | uniq -c | tee results/repeat/digests
	test -z "$$(awk '{print $$2}' results/repeat/digests | uniq -d)"

.PHONY: profile
profile: build ## leave CPU profiles of the main job with NODES=5000 clients in results/profile
	rm -rf results/profile
	SIMCTL_CPUPROFILE=results/profile bin/simctl scenario heartbeat-storm --nodes $(NODES) --out results/profile/run
	@echo 'look at one with: go tool pprof -http : results/profile/heartbeat-storm-legacy-*.pprof'

.PHONY: pgo
pgo: profile ## renew cmd/simctl/default.pgo, the profile that the program is compiled by
	$(GO) tool pprof -proto results/profile/*.pprof > cmd/simctl/default.pgo

.PHONY: clean
clean: ## remove bin and results
	rm -rf bin results
