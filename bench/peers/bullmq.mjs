// BullMQ on Redis. Completed jobs are kept.
//
// default: one worker, one job at a time (its defaults). fast: a hundred at a time in each of as many processes as the
// machine has cores. FSYNC says how often Redis syncs its log: `always` is the durability that the others have.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Queue, Worker } from 'bullmq'
import { counter, isChild, jobs, now, payload, pickUps, pickedUp, say, seconds, settings, sleep, workers } from './measure.mjs'

const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) }
const fast = { concurrency: 100 }
const options = { connection, ...(settings === 'fast' ? fast : {}) }

if (isChild) {
  const count = counter()
  new Worker('noop', async () => count.ran(), options)
} else {
  await measure()
}

async function measure() {
  const queue = new Queue('noop', { connection })
  const submit = await fill(queue)
  const processes = settings === 'fast' ? availableParallelism() : 1
  const running = await workers(fileURLToPath(import.meta.url), processes, {})
  let drain = running.done / seconds(running.first)
  while (running.isWhole) {
    if ((await queue.getCompletedCount()) >= jobs) {
      drain = jobs / seconds(running.first)
      break
    }
    await sleep(2)
  }
  running.end()
  const timed = new Queue('timed', { connection })
  new Worker('timed', async () => pickedUp(), options)
  await sleep(500)
  const pickUp = await pickUps(() => timed.add('timed', payload))
  say({
    peer: `bullmq (appendfsync ${process.env.FSYNC ?? 'always'})`,
    config: `Redis ${process.env.REDIS_VERSION}, ${processes} process(es), ${JSON.stringify(settings === 'fast' ? fast : 'defaults (concurrency 1)')}`,
    keeps_history: true,
    drain_per_second: drain,
    submit_batch_per_second: submit,
    pick_up_ms: pickUp,
  })
  process.exit(0)
}

async function fill(queue) {
  const begun = now()
  const batch = Array.from({ length: 1_000 }, () => ({ name: 'noop', data: payload }))
  for (let sent = 0; sent < jobs; sent += 4_000) {
    const one = () => queue.addBulk(batch)
    await Promise.all([one(), one(), one(), one()])
  }
  return jobs / seconds(begun)
}
