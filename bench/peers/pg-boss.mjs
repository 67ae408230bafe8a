// pg-boss. Completed jobs are kept.
//
// default: one worker, one job every two seconds (its defaults). fast: large batches, the shortest interval that it
// allows and several workers in each of as many processes as the machine has cores.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { PgBoss } from 'pg-boss'
import pg from 'pg'
import { counter, isChild, jobs, now, payload, picks, pickUps, pickedUp, say, seconds, settings, sleep, workers } from './measure.mjs'

const connectionString = process.env.DATABASE_URL
const fast = { batchSize: 5_000, pollingIntervalSeconds: 0.5 }
const FAST_WORKERS = 4
const options = settings === 'fast' ? fast : {}

async function start() {
  const boss = new PgBoss({ connectionString, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  return boss
}

if (isChild) {
  const [boss, count] = [await start(), counter()]
  for (let worker = 0; worker < (settings === 'fast' ? FAST_WORKERS : 1); worker += 1) {
    await boss.work('noop', options, async (some) => count.ran(some.length))
  }
} else {
  await measure()
}

async function measure() {
  const boss = await start()
  await boss.createQueue('noop')
  await boss.createQueue('timed')
  const sql = new pg.Pool({ connectionString, max: 2 })
  const submit = await fill(boss)
  // As autovacuum does a minute after so many jobs: without it the plans are those of an empty table.
  await sql.query('VACUUM ANALYZE')
  await sql.query('CHECKPOINT')
  const processes = settings === 'fast' ? availableParallelism() : 1
  const running = await workers(fileURLToPath(import.meta.url), processes, {})
  const drain = await completed(sql, running)
  running.end()
  await boss.work('timed', { ...options, ...(settings === 'fast' ? { batchSize: 1 } : {}) }, async () => pickedUp())
  // With its default interval a pick takes a second or two.
  const pickUp = await pickUps(() => boss.send('timed', payload), Math.min(picks, settings === 'fast' ? 20 : 8))
  const workersOf = settings === 'fast' ? FAST_WORKERS : 1
  say({
    peer: 'pg-boss',
    config: `${processes} process(es), ${workersOf} worker(s) each, ${JSON.stringify(settings === 'fast' ? fast : 'defaults')}`,
    keeps_history: true,
    drain_per_second: drain,
    submit_batch_per_second: submit,
    pick_up_ms: pickUp,
  })
  process.exit(0)
}

async function fill(boss) {
  const begun = now()
  const batch = Array.from({ length: 1_000 }, () => ({ data: payload }))
  for (let sent = 0; sent < jobs; sent += 4_000) {
    const one = () => boss.insert('noop', batch)
    await Promise.all([one(), one(), one(), one()])
  }
  return jobs / seconds(begun)
}

async function completed(sql, running) {
  if (!running.isWhole) return running.done / seconds(running.first)
  for (;;) {
    const { rows } = await sql.query(`SELECT count(*)::int AS open FROM pgboss.job WHERE name = 'noop' AND state < 'completed'`)
    if (rows[0].open === 0) return jobs / seconds(running.first)
    await sleep(10)
  }
}
