// Prints the project of docker-compose.yml and .env in this folder as JSON, as Docker
// Compose's own library understands them.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func project() ([]byte, error) {
	options, err := cli.NewProjectOptions(nil, cli.WithWorkingDirectory("."),
		cli.WithEnvFiles(), cli.WithDotEnv, cli.WithDefaultConfigPath)
	if err != nil {
		return nil, err
	}
	found, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	return found.MarshalJSON()
}

func main() {
	text, err := project()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}
