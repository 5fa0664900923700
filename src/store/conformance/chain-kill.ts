/** A process that writes the chain index and is killed, and the checks of what it left behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../kit/clock.ts'
import type { ChainBlock, ChainStore, ChainStores, ChainWrite } from '../chain.ts'
import { openStores, type StoreAddress } from '../open-stores.ts'
import { address, block, event, hash, payment, readAll } from './chain-engine.ts'

const TRANSACTIONS = 40
const START = 1

/** One write that was acknowledged. */
interface Acknowledged {
  readonly n: number
  readonly newestSeq: number
}

/** Write n extends the chain to block n; each has events, transactions, address rows and a seen block. */
function killWrite(n: number, tip: ChainBlock | undefined): ChainWrite {
  const expects = tip?.hash ?? null
  const events = Array.from({ length: eventsOf(n) }, (_, i) => event('test', [address(n)], n, `${n}/${i}`))
  if (n === START) return { atMs: n, expects, start: block(n), events }
  const transactions = Array.from({ length: TRANSACTIONS }, (_, i) =>
    payment(n * TRANSACTIONS + i, n, BigInt(i + 1), 0),
  )
  return { atMs: n, expects, added: [block(n, transactions)], seen: [hash(n)], events }
}

function eventsOf(n: number): number {
  return 1 + (n % 5)
}

/**
 * Runs in the process that is killed: continues from the checkpoint and prints acknowledged writes.
 * @public imported by the script of that process
 */
export async function writeForEver(place: StoreAddress): Promise<void> {
  const { chain } = openStores(place, systemClock).chain('test', { inline: true })
  for (let tip = await chain.checkpoint(); ; ) {
    const n = (tip?.blueScore ?? START - 1) + 1
    const written = await chain.write(killWrite(n, tip))
    process.stdout.write(`${n} ${written.newestSeq}\n`)
    tip = written.checkpoint
  }
}

/** Starts the writer and kills it with SIGKILL shortly after this many acknowledgements. */
export async function killDuringWrites(
  place: StoreAddress,
  { after, delayMs }: { after: number; delayMs: number },
): Promise<Acknowledged[]> {
  const script = `import { writeForEver } from ${JSON.stringify(import.meta.url)}
    await writeForEver(JSON.parse(process.argv[1]))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', JSON.stringify(place)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acknowledged: Acknowledged[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const [n, newestSeq] = line.split(' ').map(Number)
    acknowledged.push({ n: n as number, newestSeq: newestSeq as number })
    if (acknowledged.length === after) void wait(delayMs).then(() => child.kill('SIGKILL'))
  }
  return acknowledged
}

/** Every acknowledged write is stored, no write is stored in part, and every event number occurs once. */
export async function checkWrites(
  { chain, events }: Pick<ChainStores, 'chain' | 'events'>,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  // Waits for the lock of the log, because a server may still be committing what the killed process sent last.
  await events.retain({ maxAgeMs: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER })
  const tip = await chain.checkpoint()
  assert.ok(tip !== undefined)
  const newest = tip.blueScore
  assert.ok(newest >= (acknowledged.at(-1)?.n ?? 0), 'an acknowledged block is there')
  const above = await chain.chainAbove(hash(START))
  assert.deepEqual(
    above?.map(({ blueScore }) => blueScore),
    Array.from({ length: newest - START }, (_, i) => START + 1 + i),
  )
  const log = await readAll(events, { limit: 500 })
  const expected = Array.from({ length: newest }, (_, i) => START + i).flatMap((n) =>
    Array.from({ length: eventsOf(n) }, (_, i) => `${n}/${i}`),
  )
  assert.deepEqual(
    log.map(({ text }) => (JSON.parse(text) as { text: string }).text),
    expected,
    'events of every write, once and in order',
  )
  assert.deepEqual(
    log.map(({ seq }) => seq),
    expected.map((_, i) => i + 1),
  )
  for (const { n, newestSeq } of acknowledged) {
    const last = log[newestSeq - 1]
    assert.match(last?.text ?? '', new RegExp(`"${n}/${eventsOf(n) - 1}"`), `the events of write ${n}`)
  }
  for (let n = START + 1; n <= newest; n++) await checkRows(chain, n, TRANSACTIONS)
  await checkRows(chain, newest + 1, 0)
}

async function checkRows(chain: ChainStore, n: number, count: number): Promise<void> {
  const ids = Array.from({ length: TRANSACTIONS }, (_, i) => hash(n * TRANSACTIONS + i))
  assert.equal((await chain.known(ids)).size, count, `transactions of write ${n}`)
  const { rows } = await chain.addressPage({ address: address(n), limit: TRANSACTIONS + 1 })
  assert.equal(rows.length, count, `address rows of write ${n}`)
  assert.equal((await chain.unseen([hash(n)])).length, count === 0 ? 1 : 0, `the seen block of write ${n}`)
}
