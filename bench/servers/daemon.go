package servers

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// Daemon is any server program that answers HTTP; it is started and waited for until
// the URL answers with a status below 300. What it logs goes to the file log.
func Daemon(name, url, log string, cmd *exec.Cmd) (*Server, error) {
	s := &Server{Name: name}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := s.start(cmd); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		r, err := http.Get(url)
		if err == nil {
			_ = r.Body.Close()
			if r.StatusCode < 300 {
				return s, nil
			}
			err = fmt.Errorf("%s", r.Status)
		}
		if time.Now().After(deadline) {
			s.Close()
			text, _ := os.ReadFile(log)
			return nil, fmt.Errorf("%s does not answer: %w\n%s", name, err, text)
		}
	}
}

// Settled waits until the server has used next to no CPU time for a second: its
// background work is done. It gives up after a minute.
func (s *Server) Settled() {
	last, quiet := s.CPU(), 0
	for i := 0; i < 300 && quiet < 5; i++ {
		time.Sleep(200 * time.Millisecond)
		now := s.CPU()
		if quiet++; now-last > 10*time.Millisecond {
			quiet = 0
		}
		last = now
	}
}
