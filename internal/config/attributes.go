package config

import "reflect"

// NeedRestart returns the variables that differ in next and take effect with a
// restart only.
func (c *Config) NeedRestart(next *Config) []string {
	var variables []string
	for _, k := range settings(nil, nil).prober {
		if k.Restart && !k.of(c).Equal(k.of(next)) {
			variables = append(variables, k.Variable)
		}
	}
	return variables
}

// Identity returns t with only those settings by which its server knows the prober, and
// which server that is. Another key from the same file is a newer one of the same client.
func (t Target) Identity() Target {
	id := Target{Address: t.Address}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Target]()) {
		if f.Tag.Get("client") != "" {
			reflect.ValueOf(&id).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(t).FieldByIndex(f.Index))
		}
	}
	if t.APIKeyFile != "" {
		id.APIKey = Secret{}
	}
	return id
}

// Files returns the paths of the files that t names, but for that of its key.
func (t Target) Files() []string {
	var paths []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Target]()) {
		if path := reflect.ValueOf(t).FieldByIndex(f.Index).String(); f.Tag.Get("is") == "file" && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
