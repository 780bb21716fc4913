package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// A document is an SBOM in SPDX 2.3, with what it has to say of a Go binary.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []module       `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type module struct {
	ID         string     `json:"SPDXID"`
	Name       string     `json:"name"`
	Version    string     `json:"versionInfo"`
	Location   string     `json:"downloadLocation"`
	Analyzed   bool       `json:"filesAnalyzed"`
	Checksums  []checksum `json:"checksums,omitempty"`
	Source     string     `json:"sourceInfo,omitempty"`
	Concluded  string     `json:"licenseConcluded"`
	Declared   string     `json:"licenseDeclared"`
	Copyright  string     `json:"copyrightText"`
	References []external `json:"externalRefs"`
	Purpose    string     `json:"primaryPackagePurpose,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Kind    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	unsaid  = "NOASSERTION"
	whole   = "SPDXRef-DOCUMENT"
	product = "SPDXRef-prober"
)

// sbom lists the modules that the binary was linked from, and Go's own library.
func (b *binary) sbom() document {
	sum := sha256.Sum256(b.content)
	main := describe(product, debug.Module{Path: b.info.Main.Path, Version: b.version})
	main.Checksums = []checksum{{"SHA256", hex.EncodeToString(sum[:])}}
	main.Purpose, main.Declared = "APPLICATION", "Apache-2.0"
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: whole,
		Name:      fmt.Sprintf("prober %s %s/%s", b.version, b.os, b.arch),
		Namespace: "https://github.com/llm-prober/prober/spdx/" + hex.EncodeToString(sum[:]),
		Creation:  creation{b.built.Format(time.RFC3339), []string{"Tool: github.com/llm-prober/prober/deploy/image"}},
		Packages:  []module{main}, Relationships: []relationship{{whole, "DESCRIBES", product}},
	}
	for n, m := range b.modules() {
		id := fmt.Sprintf("SPDXRef-module-%d", n)
		d.Packages = append(d.Packages, describe(id, m))
		d.Relationships = append(d.Relationships, relationship{product, "DEPENDS_ON", id})
	}
	return d
}

// modules are those that the binary was linked from, but its own.
func (b *binary) modules() []debug.Module {
	goVersion, _, _ := strings.Cut(strings.TrimPrefix(b.info.GoVersion, "go"), " ") // experiments follow
	list := []debug.Module{{Path: "stdlib", Version: goVersion}}
	for _, m := range b.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, *m)
	}
	return list
}

// describe is a module as SPDX has it. Its purl is what vulnerabilities are
// looked up by.
func describe(id string, m debug.Module) module {
	source := ""
	if m.Sum != "" {
		source = "go.sum " + m.Sum
	}
	return module{
		ID: id, Name: m.Path, Version: m.Version, Location: unsaid, Source: source,
		Concluded: unsaid, Declared: unsaid, Copyright: unsaid,
		References: []external{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")}},
	}
}

// writeSBOM writes the SBOM of a binary to a file.
func writeSBOM(b *binary, path string) error {
	text, err := json.MarshalIndent(b.sbom(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // for everybody
}
