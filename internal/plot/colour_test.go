package plot

import (
	"fmt"
	"math"
	"strconv"
	"testing"
)

// rgb is a colour in linear light (IEC 61966-2-1).
type rgb [3]float64

func parse(t *testing.T, hex string) (c rgb) {
	t.Helper()
	for i := range c {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil || len(hex) != 7 {
			t.Fatalf("%q is no colour", hex)
		}
		v := float64(n) / 255
		if c[i] = math.Pow((v+0.055)/1.055, 2.4); v <= 0.04045 {
			c[i] = v / 12.92
		}
	}
	return c
}

// contrast is that of WCAG 2.2.
func contrast(a, b rgb) float64 {
	light := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(light(a), light(b)) / min(light(a), light(b))
}

func TestContrast(t *testing.T) {
	all := map[string]colour{}
	for _, c := range grounds() {
		all[c.name] = c
	}
	check := func(c, ground colour, least float64) {
		if got := contrast(parse(t, c.light), parse(t, ground.light)); got < least {
			t.Errorf("%s on light %s has a contrast of %.2f, want %v", c.name, ground.name, got, least)
		}
		if got := contrast(parse(t, c.dark), parse(t, ground.dark)); got < least {
			t.Errorf("%s on dark %s has a contrast of %.2f, want %v", c.name, ground.name, got, least)
		}
	}
	for _, c := range palette() {
		check(c, all["ground"], 3)
	}
	for _, ground := range []colour{all["ground"], all["page"]} {
		check(all["ink"], ground, 7)
		check(all["dim"], ground, 4.5)
	}
}

func TestColoursDifferForAllEyes(t *testing.T) {
	for name, eye := range eyes() {
		for i, a := range palette() {
			for j, b := range palette() {
				if i >= j {
					continue
				}
				least := 0.09 // four to five times what is just noticed
				if j < 4 {
					least = 0.14
				}
				seen := func(hex string) rgb { return mix(eye, parse(t, hex)) }
				if got := distance(seen(a.light), seen(b.light)); got < least {
					t.Errorf("%s: light %s and %s are %.3f apart, want %v", name, a.name, b.name, got, least)
				}
				if got := distance(seen(a.dark), seen(b.dark)); got < least {
					t.Errorf("%s: dark %s and %s are %.3f apart, want %v", name, a.name, b.name, got, least)
				}
			}
		}
	}
}

func TestLooks(t *testing.T) {
	var p Page
	for i := range 64 {
		p.Charts = append(p.Charts, Chart{Series: []Series{{Name: fmt.Sprint(i)}, {Name: "0"}}})
	}
	looks, seen := looksOf(p), map[look]string{}
	for name, l := range looks {
		if other, ok := seen[l]; ok {
			t.Errorf("%s and %s look the same: %v", name, other, l)
		}
		seen[l] = name
	}
	if len(looks) != 64 {
		t.Errorf("%d names have a look, want 64", len(looks))
	}
	for n := range shapes {
		if want, got := (look{n, n}), looks[fmt.Sprint(n)]; got != want {
			t.Errorf("the look of %d is %v, want %v", n, got, want)
		}
	}
}

// eyes are what those see who see all, no red, or no green (Machado et al., A
// Physiologically-based Model for Simulation of Color Vision Deficiency, 2009).
func eyes() map[string][3]rgb {
	return map[string][3]rgb{
		"all":      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"no red":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
		"no green": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	}
}

func mix(m [3]rgb, c rgb) (out rgb) {
	for i, row := range m {
		for j, v := range row {
			out[i] += v * c[j]
		}
	}
	return out
}

// oklab has distances that look like what they are (Ottosson, A perceptual color space
// for image processing, 2020).
func oklab(c rgb) rgb {
	for i, v := range c {
		c[i] = min(max(v, 0), 1)
	}
	c = mix([3]rgb{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}}, c)
	for i, v := range c {
		c[i] = math.Cbrt(v)
	}
	return mix([3]rgb{{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099}, {0.0259040371, 0.7827717662, -0.8086757660}}, c)
}

func distance(a, b rgb) float64 {
	a, b = oklab(a), oklab(b)
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}
