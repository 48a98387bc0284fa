package gateway

import (
	"slices"

	"github.com/onceward/onceward/internal/config"
)

// Reload replaces sources, destinations and operations. The new configuration
// is valid and takes effect whole, or the old one stays. Calls that are under
// way end by the configuration that they began with; Reload does not wait for
// them.
func (g *Gateway) Reload(c *config.Config) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if fixed := g.fixed(c); len(fixed) > 0 {
		return fixed
	}
	p, err := newPlan(c, g.keys)
	if err != nil {
		return err
	}
	old, was := g.work, g.config
	next := &work{plan: p}
	g.config = c
	if err := g.begin(next); err != nil {
		g.config = was
		return err
	}
	g.work = next
	g.intake.SetSources(p.sources)
	g.setAdmin()
	g.retire(old)
	g.refresh()
	return nil
}

// fixed says which changed fields a running process cannot take over.
func (g *Gateway) fixed(c *config.Config) (problems config.Problems) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"store", c.Store == g.config.Store},
		{"intake.listen", c.Intake.Listen == g.config.Intake.Listen},
		{"intake.public_url", c.Intake.PublicURL == g.config.Intake.PublicURL},
		{"intake.trusted_proxies", slices.Equal(c.Intake.TrustedProxies, g.config.Intake.TrustedProxies)},
		{"admin.listen", c.Admin.Listen == g.config.Admin.Listen},
		{"sweep", c.Sweep == g.config.Sweep},
		{"log", c.Log == g.config.Log},
	} {
		if !f.same {
			problems = append(problems, c.Wrong(f.name, "cannot change while running; restart to change it"))
		}
	}
	return problems
}
