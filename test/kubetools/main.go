// Kubetools is Kubernetes in one file, for the tests: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl, kwok and helm as their projects publish
// them, each by the name under which this binary is called. One link, and one
// compilation of what they share, instead of seven.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	helm "helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the programs link it as well
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(kubeapiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(kubecontrollermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(kubescheduler.NewSchedulerCommand()))
	case "kubectl":
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	case "kwok":
		os.Exit(runKwok())
	case "helm":
		os.Exit(runHelm())
	default:
		fmt.Fprintf(os.Stderr, "kubetools: called as %q, which is none of its programs\n", name)
		os.Exit(2)
	}
}

// runHelm does what helm's own main function does.
func runHelm() (code int) {
	kube.ManagedFieldsManager = "helm"
	root, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		return failed(err)
	}
	if err := root.Execute(); err != nil {
		if coded, ok := errors.AsType[helm.CommandError](err); ok {
			return coded.ExitCode
		}
		return 1 // it has said why
	}
	return 0
}

// runKwok does what kwok's own main function does.
func runKwok() (code int) {
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return failed(err)
	}
	return execute(ctx, kwok.NewCommand(ctx), flags)
}

func execute(ctx context.Context, root *cobra.Command, flags *pflag.FlagSet) (code int) {
	root.PersistentFlags().AddFlagSet(flags)
	root.Version = "" // Kubernetes has a flag --version of its own, for all that is linked here
	if err := root.ExecuteContext(ctx); err != nil {
		return failed(err)
	}
	return 0
}

func failed(err error) (code int) {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
