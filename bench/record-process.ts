/** Records the exchanges at the given addresses and tells its lag and its count of trades twice a second. */
import { join } from 'node:path'
import { EXCHANGE_PLANS } from '../src/ingest/plans.ts'
import { recordExchange } from '../src/ingest/record-exchange.ts'
import { supervise } from '../src/ingest/supervise.ts'
import { systemClock } from '../src/kit/clock.ts'
import { createLogger } from '../src/kit/log.ts'
import { openSqliteEnvironment } from '../src/store/sqlite/environment.ts'
import { VENUES } from '../src/venues/list.ts'

const { folder, addresses } = JSON.parse(process.argv[2] ?? '{}') as {
  folder: string
  addresses: Record<'spot' | 'futures' | 'perp', { restUrl: string; wsUrl: string }>
}
const clock = systemClock
const log = createLogger({ level: 'warn', write: (line) => void process.stderr.write(line) })
const store = await openSqliteEnvironment({ file: join(folder, 'bench.db'), clock })
const pairs = [
  ['spot', 'binance-spot'],
  ['futures', 'binance-futures'],
  ['perp', 'hyperliquid'],
] as const
const recorders = pairs.map(([place, name]) => {
  const plan = EXCHANGE_PLANS[name]
  if (plan === undefined) throw new Error(`no plan for ${name}`)
  const { restUrl, wsUrl } = addresses[place]
  const venue = VENUES[name]({ clock, hosts: { rest: restUrl, stream: wsUrl } })
  return recordExchange({ plan, venue, store, clock, log, backfill: false })
})
const supervisor = supervise({ recorders, coverage: store.coverage, clock, log })

setInterval(() => {
  const sources = supervisor.status()
  const oldest = Math.min(...sources.map(({ lastEventMs }) => lastEventMs ?? 0))
  const trades = sources.reduce((sum, { detail }) => sum + (detail.counts.trades ?? 0), 0)
  process.stdout.write(`${JSON.stringify({ kind: 'lag', lagMs: Date.now() - oldest, trades })}\n`)
}, 500)
