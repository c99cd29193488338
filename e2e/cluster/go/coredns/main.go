// CoreDNS with the few plugins that a cluster's DNS needs: the whole one links every cloud's client and builds four times as long.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	dnsserver.Directives = []string{"bind", "errors", "health", "ready", "kubernetes", "cache", "template"}
	coremain.Run()
}
