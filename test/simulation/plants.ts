/**
 * Defects that the simulation must find, each as a change of a few lines of the service. `npm run simulate -- --plant`
 * plants one after another and counts the seeds until a law is broken. Every text must be in its file exactly once.
 */
export interface Plant {
  readonly name: string
  /** The parts in which its code runs: seeds of other parts cannot find it and are counted without being run. */
  readonly parts: readonly string[]
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[]
}

const edit = (file: string, find: string, replace: string) => ({ file, find, replace })

const EXCHANGES = ['spot', 'futures', 'perp']
const RECORDED = [...EXCHANGES, 'chainlink', 'kalshi', 'polymarket']
const LOGS = ['chain', 'readers', 'chain-readers']

export const PLANTS: readonly Plant[] = [
  {
    name: 'minute closed while the socket is down',
    parts: EXCHANGES,
    edits: [
      edit(
        'src/ingest/exchange/close-minutes.ts',
        "openMs >= fromMs).map((candle) => ({ interval: '1m', candle })),\n        false,\n      )",
        `openMs >= fromMs).map((candle) => ({ interval: '1m', candle })),
        false,
      )
      for (const candle of candles)
        put([{ interval: '1m', candle }], candle.openMs + 60_000 < parts.clock.now())`,
      ),
      edit(
        'src/ingest/exchange/close-minutes.ts',
        '      if (fromMs === Number.POSITIVE_INFINITY) return fromMs\n',
        '',
      ),
    ],
  },
  {
    name: 'refused row without gap',
    parts: RECORDED,
    edits: [
      edit(
        'src/ingest/shared/batch-changes.ts',
        'if (concernsRefused(own, refused)) coverage',
        'if (concernsRefused(own, refused) && coverage.length < 0) coverage',
      ),
    ],
  },
  {
    name: 'kline answer outside the range covered',
    parts: ['spot', 'futures'],
    edits: [
      // What is answered counts for what was asked for; rows of another time are left out.
      edit(
        'src/venues/binance/history.ts',
        'range: { fromMs: range.fromMs, toMs: range.toMs ?? Number.POSITIVE_INFINITY },',
        'range: { fromMs: 0, toMs: Number.POSITIVE_INFINITY },',
      ),
      edit(
        'src/venues/binance/history.ts',
        'const provenMs = Math.min(shownMs, awaitedMs)',
        'const provenMs = closedToMs',
      ),
    ],
  },
  {
    name: 'roll-up from flat bars',
    parts: [...EXCHANGES, 'kalshi', 'polymarket'],
    edits: [
      edit(
        'src/core/join-prices.ts',
        'if (first.hasTrades !== second.hasTrades) return first.hasTrades ? first : second\n',
        '',
      ),
    ],
  },
  {
    name: 'leaking watch loop',
    parts: RECORDED,
    edits: [
      edit(
        'src/ingest/shared/watch-silence.ts',
        'if (state.watch !== undefined || signal.aborted) return',
        'if (signal.aborted) return',
      ),
    ],
  },
  {
    name: 'coverage written before its rows',
    parts: RECORDED,
    edits: [
      edit(
        'src/ingest/shared/write-rows.ts',
        'return store.write({ rows: batch.acceptedRows(), ...changes })',
        'return store.write(changes).then(() => store.write({ rows: batch.acceptedRows() }))',
      ),
    ],
  },
  {
    // If the trade were dropped before it is counted, the venue's count would reveal the loss, and it would be a gap.
    name: 'trade dropped at reconnect',
    parts: ['perp'],
    edits: [
      edit(
        'src/ingest/exchange/record-symbol.ts',
        '    writer.put(this.feeds.trades, [tradeRow(trade)])\n',
        `    if (this.#fresh) this.#fresh = false
    else writer.put(this.feeds.trades, [tradeRow(trade)])
`,
      ),
      edit(
        'src/ingest/exchange/record-symbol.ts',
        '    this.streamed.begins(topic)\n',
        "    this.streamed.begins(topic)\n    if (topic === 'trades') this.#fresh = true\n",
      ),
      edit(
        'src/ingest/exchange/record-symbol.ts',
        '  private hasBegun = false\n',
        '  private hasBegun = false\n  #fresh = false\n',
      ),
    ],
  },
  {
    name: 'book kept after a lost sequence number',
    parts: ['kalshi'],
    edits: [
      edit(
        'src/venues/kalshi/book-sequence.ts',
        "return seq === last + 1 ? 'next' : 'gap'",
        "return seq > last ? 'next' : 'gap'",
      ),
    ],
  },
  {
    name: 'event number given twice after a restart',
    parts: LOGS,
    edits: [
      edit(
        'src/store/sqlite/events-write.ts',
        "database.prepare('INSERT INTO event_tail VALUES (?, ?, ?, ?, ?)')",
        "database.prepare('INSERT OR REPLACE INTO event_tail VALUES (?, ?, ?, ?, ?)')\n  database.exec('UPDATE event_log SET newest_seq = max(0, newest_seq - 1)')",
      ),
    ],
  },
  {
    name: 'webhook position saved before its jobs',
    parts: ['readers', 'chain-readers'],
    edits: [
      edit(
        'src/webhooks/plan-deliveries.ts',
        'const isPlanned = await store.plan({ after: written, upTo, subscriptions, events: wanted, jobs })',
        `const isPlanned = await store.plan({ after: written, upTo, events: [], jobs: [] })
    if (isPlanned && jobs.length > 0) await store.plan({ after: upTo, upTo, events: wanted, jobs })`,
      ),
    ],
  },
  {
    name: 'charge repeated after a kill',
    parts: ['readers', 'chain-readers'],
    edits: [
      edit(
        'src/store/sqlite/accounts-settle.ts',
        'if (Number(written.changes) > 0) sums.add(entry)',
        'if (written !== undefined) sums.add(entry)',
      ),
    ],
  },
  {
    name: 'retraction missing after a reorganisation of depth 2',
    parts: ['chain', 'chain-readers'],
    edits: [
      edit(
        'src/indexer/apply-chain.ts',
        'const undone = await store.confirmedBy(removed)',
        'const undone = await store.confirmedBy(removed.length === 2 ? removed.slice(1) : removed)',
      ),
    ],
  },
  {
    name: 'writer without a fence',
    parts: [...RECORDED, 'chain', 'chain-readers'],
    edits: [
      edit(
        'test/simulation/leases.ts',
        'if (!(await isOurs())) throw',
        'if (!(await isOurs()) && fence.term < 0) throw',
      ),
    ],
  },
  {
    name: 'two planners of one position',
    parts: ['readers', 'chain-readers'],
    edits: [
      edit(
        'src/store/sqlite/jobs-operations.ts',
        'if (position() !== after) return false',
        'if (position() !== after && upTo < 0) return false',
      ),
    ],
  },
]
