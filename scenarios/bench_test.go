package scenarios

import "testing"

// BenchmarkHeartbeatStorm is the main job: 5,000 nodes under the old broker and the new,
// side by side. Run it with -benchtime=1x; one round takes a minute or two.
func BenchmarkHeartbeatStorm(b *testing.B) {
	var specs []Spec
	for _, broker := range []string{"legacy", "shedding"} {
		specs = append(specs, Spec{
			Scenario: "heartbeat-storm", Broker: broker, Seed: 1, Clock: ClockVirtual, Cost: "published",
		})
	}
	for b.Loop() {
		results, err := RunAll(b.Context(), specs, nil)
		if err != nil {
			b.Fatal(err)
		}
		var cpu, mib float64
		for _, res := range results {
			cpu += res.Host.CPUS
			mib += float64(res.Host.PeakRSSBytes) / (1 << 20)
		}
		b.ReportMetric(cpu, "cpu-s/op")
		b.ReportMetric(mib, "peak-MiB")
	}
}
