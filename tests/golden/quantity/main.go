// Writes vectors.tsv and sums.tsv: what k8s.io/apimachinery makes of quantities. See README.md.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	seed        = 20260102
	randomLines = 6200
	sumLines    = 2000
)

var suffixes = []string{
	"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e3", "E3", "e-3", "e0", "e+6", "E-9", "e-10", "e1", "e2", "e17", "e18", "e19", "e20", "e-1", "e-2",
}

var numbers = []string{
	"0", "1", "2", "3", "7", "8", "9", "10", "12", "16", "99", "100", "500", "512", "999", "1000", "1001", "1023", "1024",
	"1025", "1536", "2048", "1500", "12000", "10500", "1048576", "00", "007", "0100", ".5", "5.", "0.5", "1.5", "1.50",
	"1.500", "0.1", "0.01", "0.001", "0.0001", "0.000000001", "0.0000000001", "0.0000000015", "1.0000000001", "1.1",
	"3.3333", "0.25", "1.25", "123456789.123456789", "9223372036854775807", "9223372036854775808", "9223372036854775806",
	"18446744073709551615", "18446744073709551616", "999999999999999999", "1000000000000000000", "100000000000000000",
	"9007199254740993", "4611686018427387904", "123456789012345678901234567890", "0.123456789012345678901234567890", ".",
	"1.000", "10.10", "000.100", "1000000", "1000000000", "8388608", "8796093022208", "7.999999999999",
}

var malformed = []string{
	"", " ", " 1", "1 ", "1 Gi", "\u00a01", "a", "1a", "1.2.3", "1..2", "--1", "+-1", "1-", "1+", "1e", "1e+", "1e-", "1e1.5",
	"1ki", "1KI", "1mi", "1gi", "1gI", "1K", "1g", "1t", "1p", "1Kii", "1kk", "1mm", "1Mim", "1ee3", "1eE3", "1e3k", "1E3Ki",
	"1_000", "1,000", "0x10", "1e3e3", "Inf", "NaN", "-", "+", ".", "-.", "+.", "Ki", "Ei", "+Ei", "-Ei", ".Ei", "Pi", "m", "e3", "E",
	"e", ".m", ".Ki", "-Ki", "+m", "i", "1i", "1Zi", "1Yi", "1Z", "1\u00b5", "\u0661", "1e99999999999999999999", "1.e3", "1.Ki", "1/2",
	"0Ei", "0.0Ei", "-0", "+0", "-0Ki", "0m", "00Ki", "0.000", "-0.0001n", "1n5", "1m3", "1Ki3", "1k-3", "1M+", "\"1\"", "'1'",
}

func describe(q resource.Quantity) (text, canonical string, value, milli int64) {
	fresh := func() *resource.Quantity { c := q.DeepCopy(); return &c }
	number, suffix := fresh().CanonicalizeBytes(nil)
	return fresh().String(), string(number) + string(suffix), fresh().Value(), fresh().MilliValue()
}

func compare(a, b resource.Quantity) int {
	x, y := a.DeepCopy(), b.DeepCopy()
	return x.Cmp(y)
}

func digits(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := 0; i < n; i++ {
		if r.Intn(3) == 0 {
			b.WriteByte('0')
		} else {
			b.WriteByte(byte('0' + r.Intn(10)))
		}
	}
	return b.String()
}

func randomText(r *rand.Rand) string {
	text := []string{"", "", "", "", "-", "-", "+"}[r.Intn(7)]
	switch r.Intn(10) {
	case 0:
		text += numbers[r.Intn(len(numbers))]
	case 1:
		text += digits(r, 1+r.Intn(30))
	case 2:
		text += digits(r, r.Intn(20)) + "." + digits(r, r.Intn(24))
	case 3, 4:
		text += digits(r, 1+r.Intn(4)) + "." + digits(r, 1+r.Intn(4))
	default:
		text += fmt.Sprint(r.Int63n([]int64{10, 100, 10000, 1 << 20, 1 << 40, 1 << 62}[r.Intn(6)]))
	}
	switch r.Intn(12) {
	case 0:
		text += fmt.Sprintf("e%d", r.Intn(60)-30)
	case 1:
		text += fmt.Sprintf("E%d", r.Intn(24)-12)
	case 2: // a letter too many, or one that is not a suffix
		letters := "eEinumkKMGTP+-.019 x"
		for n := 1 + r.Intn(4); n > 0; n-- {
			text += string(letters[r.Intn(len(letters))])
		}
	default:
		text += suffixes[r.Intn(len(suffixes))]
	}
	return text
}

func inputs() []string {
	var all []string
	all = append(all, malformed...)
	for _, number := range numbers {
		for i, suffix := range suffixes {
			if i < 16 {
				all = append(all, number+suffix)
			}
		}
	}
	for _, number := range []string{"1", "-1", "1.5", "-1.5", "1000", "123", "+1", "0.5", "-0.5", "1023", "1024", "-1024", "-1025"} {
		for _, suffix := range suffixes {
			all = append(all, number+suffix)
		}
	}
	all = append(all, "1e1000", "1e-1000", "-3e999", "12345678901234567890e500", "1e308", "1e309", "1e100", "1e22", "999e18", "1000E", "-1000E")
	r := rand.New(rand.NewSource(seed))
	for i := 0; i < randomLines; i++ {
		all = append(all, randomText(r))
	}
	return all
}

func main() {
	create := func(name string) (*bufio.Writer, func()) {
		file, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		w := bufio.NewWriter(file)
		return w, func() {
			if err := w.Flush(); err != nil {
				panic(err)
			}
			if err := file.Close(); err != nil {
				panic(err)
			}
		}
	}

	var good []resource.Quantity
	var texts []string
	out, done := create("vectors.tsv")
	seen := map[string]bool{}
	for _, input := range inputs() {
		if seen[input] {
			continue
		}
		seen[input] = true
		q, err := resource.ParseQuantity(input)
		if err != nil {
			fmt.Fprintf(out, "%s\terror\n", input)
			continue
		}
		cmp := 0
		if len(good) > 0 {
			cmp = compare(q, good[len(good)-1])
		}
		text, canonical, value, milli := describe(q)
		fmt.Fprintf(out, "%s\tok\t%s\t%s\t%d\t%d\t%d\n", input, text, canonical, value, milli, cmp)
		good = append(good, q)
		texts = append(texts, input)
	}
	done()

	out, done = create("sums.tsv")
	r := rand.New(rand.NewSource(seed + 1))
	for i := 0; i < sumLines; i++ {
		a, b := r.Intn(len(good)), r.Intn(len(good))
		if len(texts[a])+len(texts[b]) > 60 {
			continue
		}
		sum, difference := good[a].DeepCopy(), good[a].DeepCopy()
		sum.Add(good[b].DeepCopy())
		difference.Sub(good[b].DeepCopy())
		rounded := good[a].DeepCopy()
		scale := r.Intn(13) - 6
		exact := rounded.RoundUp(resource.Scale(scale))
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\t%v\t%s\n", texts[a], texts[b], sum.String(), difference.String(), scale, exact, rounded.String())
	}
	done()
}
