package sim

import (
	"fmt"
	"math/bits"
	"time"
)

// Lateness is how late Writes with token frames were.
type Lateness struct {
	// Writes is their number.
	Writes uint64
	// P50 and P99 are upper bounds, at most 1/16 above the true ones and never above Max.
	P50, P99 time.Duration
	// Max is exact.
	Max time.Duration
}

func (l Lateness) String() string {
	us := func(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
	return fmt.Sprintf("%d token writes, late by %v (p50), %v (p99), %v (max)", l.Writes, us(l.P50), us(l.P99), us(l.Max))
}

// lateness counts durations in buckets that are 1/16 of a power of two wide, in bounded memory however many they are.
type lateness struct {
	counts [64 << latenessBits]uint64
	n      uint64
	max    time.Duration
}

const latenessBits = 4

// add counts d; what is early is not late.
func (l *lateness) add(d time.Duration) {
	d = max(0, d)
	l.counts[bucketOf(uint64(d))]++
	l.n++
	l.max = max(l.max, d)
}

// bucketOf is the number of the bucket that holds v: v itself below 16, then by the highest five bits.
func bucketOf(v uint64) int {
	shift := max(0, bits.Len64(v)-1-latenessBits)
	return shift<<latenessBits + int(v>>shift)
}

// endOf is the largest value of a bucket.
func endOf(bucket int) uint64 {
	shift := max(0, bucket>>latenessBits-1)
	return uint64(bucket-shift<<latenessBits+1)<<shift - 1
}

func (l *lateness) summary() Lateness {
	return Lateness{Writes: l.n, P50: l.quantile(50), P99: l.quantile(99), Max: l.max}
}

// quantile is the end of the bucket that holds the value above of100 per cent of all.
func (l *lateness) quantile(of100 uint64) time.Duration {
	below, rank := uint64(0), (l.n*of100+99)/100
	for bucket, n := range l.counts {
		if below += n; n > 0 && below >= rank {
			return min(l.max, time.Duration(endOf(bucket)))
		}
	}
	return 0
}
