/**
 * What following the chain costs the indexer's thread: payments of two inputs and two outputs, ten blocks per second
 * with thirty of them each. As in a running service, each block comes as a notification and in a chain answer, and the
 * mempool is polled every 200 ms; one payment in eight is seen in its block first.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeAddress } from '../../src/core/chain/address.ts'
import { createIndexer } from '../../src/indexer/indexer.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { scriptOfAddress } from '../../src/parser/script-address.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import { openDatabase } from '../../src/store/sqlite/open.ts'
import type { Figure, Size } from '../frame.ts'

const SECONDS: Record<Size, number> = { usual: 60, full: 600 }
const BLOCKS_PER_SECOND = 10
const PAYMENTS_PER_BLOCK = 30
/** Blocks between entering the mempool and inclusion. */
const WAITS_BLOCKS = 5
const UNSEEN_SHARE = 8
const ADDRESSES = 50_000
const DAY_SECONDS = 86_400
const START_MS = Date.UTC(2026, 0, 1)

const hex = (seed: number, salt: number, bytes = 32) => {
  let state = (seed * 2_654_435_761 + salt * 40_503 + 1) >>> 0
  let text = ''
  while (text.length < bytes * 2) {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0
    text += state.toString(16).padStart(8, '0')
  }
  return text.slice(0, bytes * 2)
}
const addresses = Array.from({ length: ADDRESSES }, (_, n) => {
  const payload = Uint8Array.from(Buffer.from(hex(n, 1), 'hex'))
  const own = { prefix: 'kaspatest', version: 0, payload } as const
  return { text: encodeAddress(own), script: scriptOfAddress(own) }
})
const addressOf = (n: number) => addresses[n % ADDRESSES] as { text: string; script: string }

interface Payment {
  readonly id: string
  /** The payment as in the mempool and in a block, and with its inputs resolved. */
  readonly plain: object
  readonly resolved: object
}

function paymentOf(n: number): Payment {
  const id = hex(n, 2)
  const [from, to] = [addressOf(n * 7), addressOf(n * 13 + 5)]
  const input = (index: number) => ({
    previousOutpoint: { transactionId: hex(n, 3 + index), index },
    signatureScript: `41${hex(n, 5, 64)}01`,
    sequence: 0,
    sigOpCount: 1,
    computeBudget: 0,
  })
  const output = (value: number, address: { text: string; script: string }) => ({
    value,
    scriptPublicKey: address.script,
    covenant: null,
    verboseData: { scriptPublicKeyType: 'PubKey', scriptPublicKeyAddress: address.text },
  })
  const common = {
    version: 0,
    outputs: [output(1e8 + n, to), output(3e8, from)],
    lockTime: 0,
    subnetworkId: '00'.repeat(20),
    gas: 0,
    payload: '',
    storageMass: 0,
    mass: 0,
    verboseData: {
      transactionId: id,
      hash: hex(n, 6),
      computeMass: 2_036,
      blockHash: hex(n, 7),
      blockTime: START_MS,
    },
  }
  const utxoEntry = {
    amount: 2e8 + n,
    scriptPublicKey: from.script,
    blockDaaScore: 1,
    isCoinbase: false,
    covenantId: null,
  }
  return {
    id,
    plain: { ...common, inputs: [0, 1].map((index) => ({ ...input(index), verboseData: null })) },
    resolved: {
      ...common,
      inputs: [0, 1].map((index) => ({ ...input(index), verboseData: { utxoEntry } })),
    },
  }
}

function coinbaseOf(n: number): Payment {
  const { id, plain } = paymentOf(1e9 + n)
  const coinbase = { ...plain, inputs: [], subnetworkId: `01${'00'.repeat(19)}`, payload: hex(n, 8, 60) }
  return { id, plain: coinbase, resolved: coinbase }
}

const bytesOf = (value: object) => Buffer.from(JSON.stringify(value))

function blockOf(n: number) {
  const first = n * PAYMENTS_PER_BLOCK
  const carried = Array.from({ length: PAYMENTS_PER_BLOCK }, (_, i) => paymentOf(first + i))
  const all = [coinbaseOf(n), ...carried]
  const [hash, parent] = [hex(n, 9), hex(n - 1, 9)]
  const header = {
    hash,
    parentsByLevel: [[parent]],
    daaScore: n,
    blueScore: n,
    timestamp: START_MS + n * 100,
    nonce: 1,
  }
  const verboseData = { transactionIds: all.map(({ id }) => id), isChainBlock: true }
  return {
    hash,
    notification: bytesOf({ block: { header, transactions: all.map(({ plain }) => plain), verboseData } }),
    chain: bytesOf({
      removedChainBlockHashes: [],
      addedChainBlockHashes: [hash],
      chainBlockAcceptedTransactions: [
        {
          chainBlockHeader: { ...header, parentsByLevel: [[1, [parent]]] },
          acceptedTransactions: all.map(({ resolved }) => resolved),
        },
      ],
    }),
  }
}

/** The mempool before block n: the payments of the next blocks, except for those that never appear in it. */
function mempoolOf(n: number): Buffer {
  const first = n * PAYMENTS_PER_BLOCK
  const waiting = Array.from({ length: PAYMENTS_PER_BLOCK * WAITS_BLOCKS }, (_, i) => first + i)
  return bytesOf({
    mempoolEntries: waiting
      .filter((number) => number % UNSEEN_SHARE !== 0)
      .map((number) => ({ fee: 203_600, transaction: paymentOf(number).plain, is_orphan: false })),
  })
}

export async function chainIndexFigures(size: Size): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-bench-chain-'))
  const stores = openStores(parseStoreAddress(folder), systemClock).chain('test', { inline: true })
  let nowMs = START_MS
  const indexer = await createIndexer({
    ...stores,
    network: 'testnet-10',
    now: () => nowMs,
    dropAfterMs: 60_000,
  })
  await indexer.startAt({ hash: hex(0, 9), blueScore: 0, daaScore: 0, timeMs: START_MS }, [])
  const seconds = SECONDS[size]
  const warmUp = 5 * BLOCKS_PER_SECOND
  let cpuMs = 0
  let bytesBefore = 0
  for (let n = 1; n <= warmUp + seconds * BLOCKS_PER_SECOND; n++) {
    // Created before the measurement, because in the service other threads and the node do that.
    const block = blockOf(n)
    const mempool = n % 2 === 0 ? mempoolOf(n) : undefined
    nowMs += 100
    const before = process.threadCpuUsage()
    if (mempool !== undefined) await indexer.applyMempool(mempool, 'node')
    const score = (name: string) => [bytesOf({ [name]: n })]
    await indexer.applyNotifications({
      blocks: [block.notification],
      daaScores: score('virtualDaaScore'),
      blueScores: score('sinkBlueScore'),
    })
    await indexer.applyChain(hex(n - 1, 9), block.chain, false)
    const { user, system } = process.threadCpuUsage(before)
    if (n === warmUp) bytesBefore = bytesIn(folder)
    if (n > warmUp) cpuMs += (user + system) / 1_000
  }
  await stores.close()
  const payments = seconds * BLOCKS_PER_SECOND * PAYMENTS_PER_BLOCK
  const bytes = bytesIn(folder) - bytesBefore
  const { rows, eventBytes } = contentsOf(folder)
  const allPayments = payments + warmUp * PAYMENTS_PER_BLOCK
  rmSync(folder, { recursive: true })
  const detail = `${payments} payments in ${seconds} s of chain`
  const gigabytes = (bytes / seconds / 2 ** 30) * DAY_SECONDS
  return [
    {
      name: 'index: share of one core at 10 blocks/s, 300 transactions/s',
      atMost: 0.5,
      value: cpuMs / 1_000 / seconds,
      detail,
    },
    { name: 'index: transactions/s that one core follows', value: payments / (cpuMs / 1_000), detail },
    {
      name: 'index: rows per transaction',
      value: rows / allPayments,
      detail: 'transactions, address rows, acceptances',
    },
    {
      name: 'index: bytes per transaction, with events',
      value: bytes / payments,
      detail: `${Math.round(eventBytes / allPayments)} of them events`,
    },
    { name: 'index: GiB per day at 300 transactions/s', value: gigabytes, detail: 'index and event log' },
  ]
}

function bytesIn(folder: string): number {
  return readdirSync(folder)
    .filter((name) => name.includes('chain.db') && !name.endsWith('-wal') && !name.endsWith('-shm'))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

function contentsOf(folder: string): { rows: number; eventBytes: number } {
  const database = openDatabase({ file: join(folder, 'test-chain.db') })
  const number = (sql: string) => Number(database.prepare(`SELECT ${sql}`).get()?.n ?? 0)
  const rows = ['transactions', 'address_rows', 'acceptances'].reduce(
    (sum, table) => sum + number(`count(*) AS n FROM ${table}`),
    0,
  )
  const packed = number('sum(length(body)) AS n FROM event_blocks')
  const tail = number('sum(length(tail) + length(addresses)) AS n FROM event_tail')
  database.close()
  return { rows, eventBytes: packed + tail }
}
