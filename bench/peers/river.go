// River. Completed jobs are kept for a day.
//
// default: 100 workers, as in its introduction. fast: 2,000 workers, as in its benchmark, and the shortest pauses that it
// allows between fetches.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type noop struct {
	Data string `json:"data"`
}

func (noop) Kind() string { return "noop" }

type timed struct {
	Data string `json:"data"`
}

func (timed) Kind() string { return "timed" }

type noopWorker struct {
	river.WorkerDefaults[noop]
	first, done *atomic.Int64
}

func (w *noopWorker) Work(context.Context, *river.Job[noop]) error {
	w.first.CompareAndSwap(0, time.Now().UnixNano())
	w.done.Add(1)
	return nil
}

type timedWorker struct {
	river.WorkerDefaults[timed]
	started chan time.Time
}

func (w *timedWorker) Work(context.Context, *river.Job[timed]) error {
	w.started <- time.Now()
	return nil
}

var data = strings.Repeat("0123456789abcdef", 12)[:189]

func number(name string, otherwise int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return otherwise
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	jobs, picks, most := number("JOBS", 20000), number("PICKS", 100), number("MOST_SECONDS", 20)
	isFast := os.Getenv("SETTINGS") == "fast"
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	must(err)
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	must(err)

	var first, done atomic.Int64
	started := make(chan time.Time, 1)
	workers := river.NewWorkers()
	river.AddWorker(workers, &noopWorker{first: &first, done: &done})
	river.AddWorker(workers, &timedWorker{started: started})
	said := "defaults, MaxWorkers 100"
	settings := river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}},
		Workers: workers,
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if isFast {
		said = "MaxWorkers 2,000, FetchCooldown 1 ms, FetchPollInterval 10 ms"
		settings.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}}
		settings.FetchCooldown, settings.FetchPollInterval = time.Millisecond, 10*time.Millisecond
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &settings)
	must(err)

	submit := fill(ctx, client, jobs)
	// As autovacuum does a minute after so many jobs: without it the plans are those of an empty table.
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		_, err = pool.Exec(ctx, statement)
		must(err)
	}
	must(client.Start(ctx))
	begun := time.Now()
	for done.Load() < int64(jobs) && time.Since(begun) < time.Duration(most)*time.Second {
		time.Sleep(2 * time.Millisecond)
	}
	drain := float64(done.Load()) / time.Since(time.Unix(0, first.Load())).Seconds()
	for done.Load() >= int64(jobs) {
		var open int
		must(pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE finalized_at IS NULL").Scan(&open))
		if open == 0 {
			drain = float64(jobs) / time.Since(time.Unix(0, first.Load())).Seconds()
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	// Where it took too long: single jobs are not to wait for the rest.
	_, err = pool.Exec(ctx, "DELETE FROM river_job WHERE state = 'available'")
	must(err)
	pickUp := pickUps(ctx, client, started, picks)
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"peer": "river", "version": os.Getenv("VERSION"), "settings": os.Getenv("SETTINGS"), "jobs": jobs,
		"config": said + ", one process", "keeps_history": true,
		"drain_per_second": drain, "submit_batch_per_second": submit, "pick_up_ms": pickUp,
	}))
	stopping, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = client.StopAndCancel(stopping)
}

func fill(ctx context.Context, client *river.Client[pgx.Tx], jobs int) float64 {
	batch := make([]river.InsertManyParams, 1000)
	for place := range batch {
		batch[place] = river.InsertManyParams{Args: noop{Data: data}}
	}
	begun := time.Now()
	left := make(chan struct{}, jobs/len(batch))
	for range jobs / len(batch) {
		left <- struct{}{}
	}
	close(left)
	ended := make(chan error, 4)
	for range 4 {
		go func() {
			for range left {
				if _, err := client.InsertManyFast(ctx, batch); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range 4 {
		must(<-ended)
	}
	return float64(jobs) / time.Since(begun).Seconds()
}

func pickUps(ctx context.Context, client *river.Client[pgx.Tx], started chan time.Time, picks int) map[string]float64 {
	var took []float64
	for pick := range picks {
		time.Sleep(time.Duration(15+pick*37%30) * time.Millisecond)
		sent := time.Now()
		_, err := client.Insert(ctx, timed{Data: data}, nil)
		must(err)
		select {
		case at := <-started:
			took = append(took, float64(at.Sub(sent).Microseconds())/1000)
		case <-time.After(10 * time.Second):
			must(fmt.Errorf("a job was not picked up within 10 s"))
		}
	}
	sort.Float64s(took)
	at := func(share float64) float64 { return took[min(len(took)-1, int(float64(len(took))*share))] }
	return map[string]float64{"p50": at(0.5), "p99": at(0.99), "p999": at(0.999)}
}
