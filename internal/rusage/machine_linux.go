package rusage

import (
	"time"

	"github.com/prometheus/procfs"
)

// Machine returns for how long the processors of this machine, whose number it returns too, have
// worked for anybody since it was started, and for how long they were ready to work while the host of a virtual machine
// had them do something else. It is exact to a hundredth of a second. All are zero if the system does not report it.
func Machine() (busy, stolen time.Duration, processors int) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, 0, 0
	}
	stat, err := fs.Stat()
	if err != nil {
		return 0, 0, 0
	}
	all := stat.CPUTotal
	busy = time.Duration((all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ) * float64(time.Second))
	return busy, time.Duration(all.Steal * float64(time.Second)), len(stat.CPU)
}
