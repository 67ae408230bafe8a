// What the adapters written in JavaScript share: workers in processes of their own, the clock, and how results are told.
import { fork } from 'node:child_process'

export const jobs = Number(process.env.JOBS ?? 20_000)
export const picks = Number(process.env.PICKS ?? 100)
export const settings = process.env.SETTINGS ?? 'default'
/// A drain that takes longer is ended, and what was done until then counts.
export const MOST_SECONDS = Number(process.env.MOST_SECONDS ?? 20)

const sixteen = '0123456789abcdef'
/// 200 bytes as JSON.
export const payload = { data: sixteen.repeat(12).slice(0, 189) }

/// Nanoseconds on a clock that all processes of a machine share.
export const now = () => process.hrtime.bigint()
export const seconds = (from, to = now()) => Number(to - from) / 1e9
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

export const isChild = process.send !== undefined

/// In a child: counts what its handlers ran, and tells the parent now and then.
export function counter() {
  let done = 0
  let first
  setInterval(() => process.send({ done, first: first?.toString() }), 5).unref()
  return {
    ran(number = 1) {
      first ??= now()
      done += number
    },
  }
}

/// Starts this adapter again in so many processes, and waits until their handlers have run all jobs, or for too long.
/// Answers from when to count, and how many were run.
export async function workers(file, number, variables) {
  const children = Array.from({ length: number }, () =>
    fork(file, { env: { ...process.env, ...variables }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  )
  const told = children.map(() => ({ done: 0 }))
  children.forEach((child, place) => child.on('message', (message) => (told[place] = message)))
  const begun = now()
  const sum = () => told.reduce((sum, one) => sum + one.done, 0)
  const first = () => told.map((one) => one.first && BigInt(one.first)).filter(Boolean).sort()[0]
  while (sum() < jobs) {
    await sleep(5)
    // From the first job on: a process takes a while to start.
    if (first() ? seconds(first()) > MOST_SECONDS : seconds(begun) > MOST_SECONDS + 20) break
    if (children.some((child) => child.exitCode !== null)) throw new Error('a worker process ended')
  }
  return { first: first() ?? begun, done: sum(), isWhole: sum() >= jobs, end: () => children.forEach((child) => child.kill()) }
}

/// The same job one at a time: from adding it to the start of its handler, in milliseconds.
export async function pickUps(add, number = picks) {
  const took = []
  for (let pick = 0; pick < number; pick += 1) {
    await sleep(15 + ((pick * 37) % 30))
    const started = new Promise((done) => (pickUps.started = done))
    const sent = now()
    const added = add()
    const at = await Promise.race([started, sleep(10_000)])
    await added
    if (at === undefined) throw new Error('a job was not picked up within 10 s')
    took.push(Number(at - sent) / 1e6)
  }
  took.sort((a, b) => a - b)
  const at = (share) => took[Math.min(took.length - 1, Math.floor(took.length * share))]
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) }
}

/// Called by the handler of a job that is timed.
export const pickedUp = () => pickUps.started?.(now())

export function say(result) {
  const config = `${result.config}, Node ${process.version}`
  console.log(JSON.stringify({ version: process.env.VERSION, settings, jobs, ...result, config }))
}
