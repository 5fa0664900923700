import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Feed } from '../../core/feed.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import type { EnvironmentStore } from '../environment.ts'
import { START } from './engine.ts'

const KILL_BATCH_ROWS = 500
const killFeed: Feed<'candles'> = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' }

/** Batch n holds the seconds [n × size, (n + 1) × size), so that a partial batch is found by counting. */
function killBatch(n: number): CandleInput[] {
  return Array.from({ length: KILL_BATCH_ROWS }, (_, i) => ({
    time: START + (n * KILL_BATCH_ROWS + i) * 1000,
    open: 100,
    high: 110,
    low: 90,
    close: 105,
    volume: i,
    closed: true,
  }))
}

/**
 * Runs in the process that is killed: appends four batches at a time and prints each when acknowledged.
 * @public imported by the script of that process
 */
export async function appendForEver(store: EnvironmentStore): Promise<void> {
  for (let n = 0; ; n += 4) {
    await Promise.all(
      [n, n + 1, n + 2, n + 3].map(async (batch) => {
        await store.write({ rows: [{ feed: killFeed, rows: killBatch(batch) }] })
        process.stdout.write(`${batch}\n`)
      }),
    )
  }
}

/** Starts `script`, kills it with SIGKILL after some acknowledgements, and returns the acknowledged batches. */
export async function killDuringAppend(
  node: string,
  script: string,
  file: string,
  after: number,
): Promise<number[]> {
  const child = spawn(node, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const acknowledged: number[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(Number(line))
    if (acknowledged.length === after) child.kill('SIGKILL')
  }
  return acknowledged
}

/** Every acknowledged batch is stored, and no batch is stored in part. */
export async function checkBatches(store: EnvironmentStore, acknowledged: readonly number[]): Promise<void> {
  const count = async (n: number) => {
    const from = START + n * KILL_BATCH_ROWS * 1000
    const range = { from, to: from + KILL_BATCH_ROWS * 1000 }
    return store.series.count({ feeds: [killFeed], range, order: 'asc', limit: KILL_BATCH_ROWS + 1 })
  }
  for (const n of acknowledged) assert.equal(await count(n), KILL_BATCH_ROWS, `acknowledged batch ${n}`)
  const newest = Math.max(...acknowledged)
  for (let n = 0; n < newest + 50; n++) {
    assert.ok([0, KILL_BATCH_ROWS].includes(await count(n)), `batch ${n} is there in part`)
  }
}
