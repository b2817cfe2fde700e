package actions

import (
	"fmt"
	"time"
)

// Positive returns an error unless the duration of that name is above zero.
func Positive(name string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s is %v: it must be above 0", name, d)
	}
	return nil
}

// Lasting returns an error if a fault lasts for less than no time.
func Lasting(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("it lasts %v: that must not be below 0", d)
	}
	return nil
}

// ShareOfClients returns an error unless the share is from 0 to 1.
func ShareOfClients(f float64) error {
	if !(f >= 0 && f <= 1) { // so that a NaN is refused
		return fmt.Errorf("a share of %g of the clients: it must be a number from 0 to 1", f)
	}
	return nil
}
