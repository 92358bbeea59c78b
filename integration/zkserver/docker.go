package zkserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

const (
	// engineTimeout bounds one call of the Docker engine.
	engineTimeout = 30 * time.Second
	pullTimeout   = 3 * time.Minute
)

// docker runs servers in containers that share this machine's loopback
// interface and see their data at the same path as the test: so a server is
// configured, proxied and looked at alike, whatever runs it.
type docker struct {
	version string
	image   string
	from    string
	client  *testcontainers.DockerClient
}

func newDocker(version string) (launcher, error) {
	setDockerEnvironment()
	ctx, cancel := context.WithTimeout(context.Background(), prepareTimeout)
	defer cancel()
	c, err := engine(ctx)
	if err != nil {
		return nil, fmt.Errorf("zkserver: docker: %w: %w", errUnavailable, err)
	}
	d := &docker{version: version, client: c}
	if d.image, d.from, err = chooseImage(ctx, c, version); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("zkserver: docker: %w: %w", errUnavailable, err)
	}
	d.removeOrphans(ctx)
	return d, nil
}

// setDockerEnvironment tells testcontainers what it would guess wrong: its
// reaper is an image of a registry, and in a container it takes the gateway
// for the host. Whoever has set these knows better.
func setDockerEnvironment() {
	setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
	if _, err := os.Stat("/.dockerenv"); err == nil {
		setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	log.SetDefault(log.NewNoopLogger())
}

func setDefault(name, value string) {
	if os.Getenv(name) == "" {
		_ = os.Setenv(name, value)
	}
}

// engine returns the Docker engine if its containers can share this machine's
// network and files.
func engine(ctx context.Context) (*testcontainers.DockerClient, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	c, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, err
	}
	info, err := c.Client.Info(ctx, client.InfoOptions{})
	if err == nil && info.Info.Name != hostname() {
		err = fmt.Errorf("the engine runs on %q, not on this machine (%q)", info.Info.Name, hostname())
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// chooseImage returns the image and where it comes from.
func chooseImage(ctx context.Context, c *testcontainers.DockerClient, version string) (image, from string, err error) {
	if image = os.Getenv("ZK_IMAGE"); image != "" {
		return image, "image of ZK_IMAGE, " + image, nil
	}
	official := "zookeeper:" + version
	if present(ctx, c, official) {
		return official, "official image", nil
	}
	errPull := pull(ctx, c, official)
	if errPull == nil {
		return official, "official image", nil
	}
	env := "DOCKER_HOST=" + c.DaemonHost() // which need not be what the command line would choose
	if image, err = script(ctx, []string{env}, "zookeeper-image.sh", version); err != nil {
		return "", "", fmt.Errorf("%w; %w", errPull, err)
	}
	return image, "image of Debian's packages, " + image, nil
}

func present(ctx context.Context, c *testcontainers.DockerClient, image string) bool {
	_, err := c.ImageInspect(ctx, image)
	return err == nil
}

func pull(ctx context.Context, c *testcontainers.DockerClient, image string) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	progress, err := c.ImagePull(ctx, image, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	defer progress.Close()
	if _, err := io.Copy(io.Discard, progress); err != nil {
		return err
	}
	// The stream reports failures as messages; what counts is the image.
	_, err = c.ImageInspect(ctx, image)
	return err
}

func (d *docker) String() string {
	return fmt.Sprintf("ZooKeeper %s in Docker containers, %s", d.version, d.from)
}

func (d *docker) close() error { return d.client.Close() }

func (d *docker) launch(ctx context.Context, s spec) (process, error) {
	// The output goes to the file where a local server's goes.
	command := []string{"sh", "-c", `exec zkServer.sh start-foreground "$0" >>"$1" 2>&1`, s.config, s.log}
	c, err := testcontainers.Run(ctx, d.image,
		testcontainers.WithEntrypoint(command...),
		testcontainers.WithEnv(map[string]string{"SERVER_JVMFLAGS": strings.Join(s.jvm, " ")}),
		testcontainers.WithLabels(map[string]string{ownerLabel: self()}),
		testcontainers.WithConfigModifier(func(c *container.Config) {
			c.User = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
			c.WorkingDir = s.dir
		}),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.NetworkMode = "host"
			h.Binds = []string{s.dir + ":" + s.dir}
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("zkserver: %s: %w", s.name, err)
	}
	return &containerProcess{client: d.client, container: c}, nil
}

// containerProcess is one run of a server: a restart is another container on
// the same data. Its server holds a lock around every call.
type containerProcess struct {
	client    *testcontainers.DockerClient
	container *testcontainers.DockerContainer
	frozen    bool
	gone      bool
}

func (p *containerProcess) running() bool {
	if p.gone {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	state, err := p.container.State(ctx)
	return err == nil && state.Running
}

// kill removes the container, which kills it first. A frozen one gets SIGKILL
// while it is frozen, so that it does nothing between the thaw and its end.
func (p *containerProcess) kill() error {
	if p.gone {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	id := p.container.GetContainerID()
	_, errKill := p.client.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "KILL"})
	if p.frozen {
		// The engine may thaw a container that it kills; then this fails.
		_, _ = p.client.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
	}
	if err := p.container.Terminate(ctx, testcontainers.StopTimeout(0)); err != nil {
		return cmp.Or(errKill, err)
	}
	p.gone = true
	return nil
}

func (p *containerProcess) freeze() error {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	_, err := p.client.ContainerPause(ctx, p.container.GetContainerID(), client.ContainerPauseOptions{})
	p.frozen = p.frozen || err == nil
	return err
}

func (p *containerProcess) thaw() error {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	_, err := p.client.ContainerUnpause(ctx, p.container.GetContainerID(), client.ContainerUnpauseOptions{})
	if err == nil {
		p.frozen = false
	}
	return err
}
