// Writes cases.tsv: what encoding/json makes of documents read into structs and merged. See README.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	seed  = 20260103
	cases = 1500
)

type Leaves struct {
	Flag     *bool               `json:"flag,omitempty"`
	Count    *int64              `json:"count,omitempty"`
	Small    *int32              `json:"small,omitempty"`
	Text     string              `json:"text,omitempty"`
	Word     *string             `json:"word,omitempty"`
	Either   *intstr.IntOrString `json:"either,omitempty"`
	Switches map[string]bool     `json:"switches,omitempty"`
}

type Element struct {
	Name  string `json:"name,omitempty"`
	Inner Leaves `json:"inner,omitempty"`
}

type Extra struct {
	More   *int64            `json:"more,omitempty"`
	Amount resource.Quantity `json:"amount,omitempty"`
}

type Root struct {
	Leaves
	Object   *Leaves    `json:"object,omitempty"`
	List     []Element  `json:"list,omitempty"`
	Pointers []*Element `json:"pointers,omitempty"`
	*Extra
}

type generator struct{ *rand.Rand }

func (g generator) pick(words ...string) string { return words[g.Intn(len(words))] }

// A value of the wrong type, one time in so many; null, one time in eight.
func (g generator) leaf(good ...string) string {
	if g.Intn(60) == 0 {
		return g.pick(`{}`, `[]`, `"x"`, `1.5`, `1e2`, `true`, `9223372036854775808`, `2147483648`, `-2147483649`, `{"a":1}`)
	}
	if g.Intn(8) == 0 {
		return "null"
	}
	return g.pick(good...)
}

func (g generator) switches() string {
	if g.Intn(8) == 0 {
		return g.leaf("null")
	}
	var members []string
	for i := g.Intn(4); i > 0; i-- {
		members = append(members, fmt.Sprintf("%q:%s", g.pick("a", "b", "B", ""), g.leaf("true", "false")))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g generator) leaves(members []string) []string {
	for i := g.Intn(4); i > 0; i-- {
		switch g.Intn(8) {
		case 0:
			members = append(members, g.pick(`"flag":`, `"FLAG":`, `"flag":`)+g.leaf("true", "false"))
		case 1:
			members = append(members, g.pick(`"count":`, `"Count":`)+g.leaf("0", "1", "-0", "9223372036854775807", "-5"))
		case 2:
			members = append(members, `"small":`+g.leaf("0", "7", "2147483647", "-2147483648"))
		case 3:
			members = append(members, `"text":`+g.leaf(`""`, `"x"`, `"\u00e9\n\u0041"`, `"<&>"`))
		case 4:
			members = append(members, `"word":`+g.leaf(`""`, `"w"`))
		case 5:
			members = append(members, `"either":`+g.leaf(`0`, `50`, `"50M"`, `""`, `"5"`))
		case 6:
			members = append(members, `"switches":`+g.switches())
		case 7:
			members = append(members, g.pick(`"other":`, `"flags":`)+g.leaf("1", `[{"flag":3}]`, `{"count":"x"}`))
		}
	}
	return members
}

func (g generator) object(members []string) string {
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

func (g generator) list() string {
	if g.Intn(12) == 0 {
		return g.leaf("null")
	}
	var elements []string
	for i := g.Intn(4); i > 0; i-- {
		if g.Intn(10) == 0 {
			elements = append(elements, "null")
			continue
		}
		var members []string
		if g.Intn(2) == 0 {
			members = append(members, `"name":`+g.leaf(`"sda"`, `"sdb"`))
		}
		if g.Intn(2) == 0 {
			members = append(members, `"inner":`+g.inner())
		}
		elements = append(elements, g.object(members))
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func (g generator) inner() string {
	if g.Intn(10) == 0 {
		return g.leaf("null")
	}
	return g.object(g.leaves(nil))
}

func (g generator) root() string {
	members := g.leaves(nil)
	// Once each: a list that is named twice and shrinks leaves its old elements in Go's memory, to come up again later; a
	// quantity that is named twice, the second time as null, keeps its text but not its amount.
	if g.Intn(2) == 0 {
		members = append(members, g.pick(`"list":`, `"List":`)+g.list())
	}
	if g.Intn(2) == 0 {
		members = append(members, `"pointers":`+g.list())
	}
	if g.Intn(3) == 0 {
		members = append(members, `"amount":`+g.leaf(`"10M"`, `5`, `"1.500"`, `" 2Gi "`, `"+1"`, `1e3`, `"0"`, `1.5`, `"12000"`))
	}
	for i := g.Intn(3); i > 0; i-- {
		switch g.Intn(2) {
		case 0:
			members = append(members, `"object":`+g.inner())
		case 1:
			members = append(members, `"more":`+g.leaf("0", "3"))
		}
	}
	return g.object(members)
}

func written(root Root) string {
	// The peer's objects do not escape HTML either: their text is compared, not shown in a page.
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(root); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func main() {
	file, err := os.Create("cases.tsv")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	defer out.Flush()

	fixed := [][2]string{
		{`{}`, `{}`}, {`null`, `{"count":1}`}, {``, `{}`}, {`[]`, `{}`}, {`{"count":1} x`, `{}`}, {`{"count":1}`, `{"more":null}`},
		{`{"amount":"10M"}`, `{"more":1}`}, {`{"amount":"10M"}`, `{"count":1}`},
		{`{"pointers":[{"name":"sda","inner":{"count":100}}]}`, `{"pointers":[{"name":"sdb","inner":{"small":50}}]}`},
		{`{"pointers":[{"name":"sda"},{"name":"sdb"}]}`, `{"pointers":[{"inner":{}}]}`},
		{`{"list":[{"name":"sda"}]}`, `{"list":[]}`},
		{`{"object":{"count":1},"object":{"small":2}}`, `{"OBJECT":{"flag":false}}`},
	}
	g := generator{rand.New(rand.NewSource(seed))}
	for i := 0; i < len(fixed)+cases; i++ {
		var a, b string
		if i < len(fixed) {
			a, b = fixed[i][0], fixed[i][1]
		} else {
			a, b = g.root(), g.root()
		}
		var over, under Root
		first, merged := "error", "error"
		errUnder := json.Unmarshal([]byte(a), &under)
		errOver := json.Unmarshal([]byte(b), &over)
		if errUnder == nil {
			first = written(under)
		}
		if errUnder == nil && errOver == nil {
			text, err := json.Marshal(over)
			if err != nil {
				panic(err)
			}
			if err := json.Unmarshal(text, &under); err != nil {
				panic(err)
			}
			merged = written(under)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", a, b, first, merged)
	}
}
