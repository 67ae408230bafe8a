// Graphile Worker. Jobs are deleted when they are done.
//
// default: the library's defaults in one process. fast: what its page about performance was measured with
// (https://worker.graphile.org/docs/performance), in as many processes as the machine has cores.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import { counter, isChild, jobs, now, payload, pickUps, pickedUp, say, seconds, settings, sleep, workers } from './measure.mjs'

const quiet = new Logger(() => () => {})
const fast = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
const connectionString = process.env.DATABASE_URL
const preset = { worker: { connectionString, logger: quiet, ...(settings === 'fast' ? fast : {}) } }

if (isChild) {
  const count = counter()
  await run({ preset, taskList: { noop: () => count.ran() } })
} else {
  await measure()
}

async function measure() {
  const utils = await makeWorkerUtils({ preset })
  await utils.migrate()
  const sql = new pg.Pool({ connectionString, max: 4 })
  const submit = await fill(sql)
  // As autovacuum does a minute after so many jobs: without it the plans are those of an empty table.
  await sql.query('VACUUM ANALYZE')
  await sql.query('CHECKPOINT')
  const processes = settings === 'fast' ? availableParallelism() : 1
  const running = await workers(fileURLToPath(import.meta.url), processes, {})
  const drain = await emptied(sql, running)
  running.end()
  await sleep(200)
  await sql.query('TRUNCATE graphile_worker._private_jobs')
  const pickUp = await pickUpTimes(utils)
  say({
    peer: 'graphile-worker',
    config: `${processes} process(es), ${JSON.stringify(settings === 'fast' ? fast : 'defaults (concurrency 1)')}`,
    keeps_history: false,
    drain_per_second: drain,
    submit_batch_per_second: submit,
    pick_up_ms: pickUp,
  })
  process.exit(0)
}

async function fill(sql) {
  const begun = now()
  const batch = JSON.stringify(payload)
  for (let sent = 0; sent < jobs; sent += 4_000) {
    const one = () =>
      sql.query(
        `SELECT 1 FROM graphile_worker.add_jobs(ARRAY(
           SELECT ROW('noop', $1::json, NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
           FROM generate_series(1, 1000)))`,
        [batch],
      )
    await Promise.all([one(), one(), one(), one()])
  }
  return jobs / seconds(begun)
}

/// Handlers have run; what counts is that the jobs are gone.
async function emptied(sql, running) {
  if (!running.isWhole) return running.done / seconds(running.first)
  for (;;) {
    const { rows } = await sql.query('SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS any')
    if (!rows[0].any) return jobs / seconds(running.first)
    await sleep(2)
  }
}

async function pickUpTimes(utils) {
  const runner = await run({ preset, taskList: { timed: () => pickedUp() } })
  await sleep(500)
  const times = await pickUps(() => utils.addJob('timed', payload))
  await runner.stop()
  return times
}
