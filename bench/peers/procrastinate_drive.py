"""Procrastinate. Succeeded jobs are kept.

default: one worker, one job at a time (its defaults). fast: a hundred at a time in each of as many processes as the
machine has cores.

Nothing here waits for ever. A pick-up whose notification comes while the worker is looking for jobs waits for the next
poll, five seconds later: with 150 of them at fast settings that took more time than a peer has, so picking up ends after
PICK_SECONDS, with as many as were timed by then.
"""

import asyncio
import json
import multiprocessing
import os
import time

import procrastinate
import psycopg

JOBS = int(os.environ.get("JOBS", "20000"))
PICKS = int(os.environ.get("PICKS", "100"))
MOST_SECONDS = float(os.environ.get("MOST_SECONDS", "20"))
PICK_SECONDS = 25
# For the last of the jobs that have run to be recorded.
RECORD_SECONDS = 10
FAST = os.environ.get("SETTINGS") == "fast"
DSN = os.environ["DATABASE_URL"]
DATA = ("0123456789abcdef" * 12)[:189]
CONCURRENCY = 100 if FAST else 1
PROCESSES = (os.cpu_count() or 1) if FAST else 1

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DSN))
# Processes of their own from the start: a fork would share the connections of this one.
spawned = multiprocessing.get_context("spawn")
done = spawned.Value("q", 0)
first = spawned.Value("d", 0.0)
started: asyncio.Queue = asyncio.Queue()


@app.task(name="noop", queue="noop")
async def noop(data: str) -> None:
    with done.get_lock():
        done.value += 1
        if first.value == 0.0:
            first.value = time.monotonic()


@app.task(name="timed", queue="timed")
async def timed(data: str) -> None:
    started.put_nowait(time.monotonic())


def work(done_by_all, first_of_all) -> None:
    global done, first
    done, first = done_by_all, first_of_all

    async def run() -> None:
        async with app.open_async():
            await app.run_worker_async(queues=["noop"], concurrency=CONCURRENCY, install_signal_handlers=False)

    asyncio.run(run())


async def fill() -> float:
    begun, left = time.monotonic(), iter(range(JOBS // 1000))

    async def sender() -> None:
        for _ in left:
            await noop.batch_defer_async(*[{"data": DATA}] * 1000)

    await asyncio.gather(*[sender() for _ in range(4)])
    return JOBS / (time.monotonic() - begun)


async def drain() -> float:
    processes = [spawned.Process(target=work, args=(done, first), daemon=True) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    begun = time.monotonic()
    # From the first job on: it takes Python a while to start.
    while done.value < JOBS and time.monotonic() - (first.value or begun + 20) < MOST_SECONDS:
        await asyncio.sleep(0.005)
    rate = done.value / (time.monotonic() - (first.value or begun))
    with psycopg.connect(DSN, autocommit=True) as sql:
        begun = time.monotonic()
        while done.value >= JOBS and time.monotonic() - begun < RECORD_SECONDS:
            row = sql.execute("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')").fetchone()
            if row and row[0] == 0:
                rate = JOBS / (time.monotonic() - first.value)
                break
            await asyncio.sleep(0.01)
    for process in processes:
        process.kill()
        process.join()
    return rate


async def pick_ups() -> dict:
    worker = asyncio.create_task(
        app.run_worker_async(queues=["timed"], concurrency=CONCURRENCY, install_signal_handlers=False)
    )
    await asyncio.sleep(0.5)
    took, begun = [], time.monotonic()
    for pick in range(PICKS):
        if took and time.monotonic() - begun > PICK_SECONDS:
            break
        await asyncio.sleep((15 + pick * 37 % 30) / 1000)
        sent = time.monotonic()
        await timed.defer_async(data=DATA)
        took.append((await asyncio.wait_for(started.get(), 10) - sent) * 1000)
    worker.cancel()
    took.sort()
    quantiles = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))
    return {name: took[min(len(took) - 1, int(len(took) * share))] for name, share in quantiles} | {"count": len(took)}


async def main() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        submit = await fill()
        with psycopg.connect(DSN, autocommit=True) as sql:
            # As autovacuum does a minute after so many jobs: without it the plans are those of an empty table.
            sql.execute("VACUUM ANALYZE")
        rate = await drain()
        with psycopg.connect(DSN, autocommit=True) as sql:
            # What was not done in time: a single job is timed with nothing else waiting.
            sql.execute("DELETE FROM procrastinate_jobs WHERE queue_name = 'noop' AND status = 'todo'")
        times = await pick_ups()
    config = f"{PROCESSES} process(es), " + (f"concurrency {CONCURRENCY}" if FAST else "defaults (concurrency 1)")
    if times["count"] < PICKS:
        config += f", {times['count']} pick-ups in {PICK_SECONDS} s"
    print(
        json.dumps(
            {
                "peer": "procrastinate",
                "version": os.environ.get("VERSION"),
                "settings": os.environ.get("SETTINGS", "default"),
                "jobs": JOBS,
                "config": config,
                "keeps_history": True,
                "drain_per_second": rate,
                "submit_batch_per_second": submit,
                "pick_up_ms": times,
            }
        ),
        flush=True,
    )
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
