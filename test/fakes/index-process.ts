/** Follows a node into a folder until it is killed: `index-process.ts <folder> <url>…` */
import { startIndexWorker } from '../../src/app/index-worker.ts'
import { startFollowing } from '../../src/indexer/follow.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createWatchedAddresses } from '../../src/relay/addresses.ts'
import { createUpstreams } from '../../src/upstreams/pool.ts'
import { storeAddressOf } from './stores.ts'

const [folder = '', ...urls] = process.argv.slice(2)
const network = 'testnet-10'
const upstreams = createUpstreams({
  network,
  nodes: urls.map((url, i) => ({ name: `node-${i + 1}`, url, tier: 'primary' })),
  clock: systemClock,
  random: Math.random,
})
const worker = startIndexWorker({
  address: storeAddressOf(folder),
  environment: 'test',
  network,
  dropAfterMs: 60_000,
  onUnreadable: fail,
})
await startFollowing({
  upstreams,
  indexer: worker.indexer,
  watched: createWatchedAddresses({ network, cap: 10 }),
  clock: systemClock,
  random: Math.random,
  keep: { eventDays: 365, eventBytes: 1e12, indexDays: null },
  mempoolPace: { minMs: 100, flowMs: 100, quietMs: 100 },
  onWritten: () => {},
  onApplied: ({ checkpoint }) => {
    if (checkpoint) process.stdout.write(`${checkpoint.hash}\n`)
  },
})

function fail(detail: string): void {
  process.stderr.write(`${detail}\n`)
  process.exit(1)
}
