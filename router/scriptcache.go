package router

import (
	"strings"
	"sync"
	"unsafe"

	"ostraka/planner/cache"
)

// scripts caches what query texts mean: that depends on nothing but the text, and for
// ordinary statements not on the literals in it.
var scripts struct {
	mu sync.Mutex
	// byText has texts, byKey texts without their literals (cache.TextKey), of bare scripts only.
	byText, byKey map[string]*script // guarded by mu
}

// Bounds of the cache.
const (
	maxCached     = 2048 // texts, and as many keys
	maxCachedText = 4096
)

// analyse classifies a query string. What does not parse goes to the primary,
// which says what is wrong with it.
func analyse(sql string) *script {
	var key []byte
	sc := known(unsafe.Slice(unsafe.StringData(sql), len(sql)), &key)
	if sc != nil {
		return sc
	}
	sc = analyseText(sql)
	if len(sql) > maxCachedText {
		return sc
	}
	scripts.mu.Lock()
	defer scripts.mu.Unlock()
	into, text := &scripts.byText, sql
	if sc.bare && sc.parsed {
		if key, ok := cache.TextKey(sql, key); ok {
			into, text = &scripts.byKey, string(key)
		}
	}
	if *into == nil || len(*into) >= maxCached {
		*into = map[string]*script{}
	}
	(*into)[strings.Clone(text)] = sc
	return sc
}

// known finds a script in the cache; sql is only looked at, key is scratch space.
func known(sql []byte, key *[]byte) *script {
	if len(sql) > maxCachedText {
		return nil
	}
	scripts.mu.Lock()
	sc := scripts.byText[string(sql)]
	scripts.mu.Unlock()
	if sc != nil {
		return sc
	}
	var ok bool
	if *key, ok = cache.TextKey(unsafe.String(unsafe.SliceData(sql), len(sql)), *key); !ok {
		return nil
	}
	scripts.mu.Lock()
	sc = scripts.byKey[string(*key)]
	scripts.mu.Unlock()
	return sc
}
