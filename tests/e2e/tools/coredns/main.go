// CoreDNS with the plugins that the tests' Corefile names (tests/e2e/servers/core_dns.py) and no others: most of what
// CoreDNS itself would compile is the clouds' libraries, for plugins that look up names in them.
package main

import (
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	coremain.Run()
}
