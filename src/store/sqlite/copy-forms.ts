/** Tables that this engine stores in a different form than the copy: packed, split, or as facts. */
import type { DatabaseSync } from 'node:sqlite'
import { type CopiedRow, type CopiedTable, type CopiedValue, isBig } from '../copy/copied-table.ts'
import { compareText } from '../order/arms.ts'
import { decodeRows } from '../rows/row-block.ts'
import { addressTable } from './chain-addresses.ts'
import { transactionTexts } from './chain-texts.ts'
import { eventBlocks, eventPacker, kindTable, type PackedEvent, toParts } from './events-blocks.ts'
import { logIdOf } from './events-read.ts'

export interface OwnForm {
  count?(): number
  rows?(after: readonly CopiedValue[] | undefined): Iterable<CopiedRow>
  /** Fills in what is missing in a row that was read from its table. */
  complete?(row: CopiedValue[]): CopiedRow
  /** Writes rows whose values are in the column order of the table. */
  write?(rows: readonly CopiedRow[]): void
}

const EVENTS_AT_ONCE = 64
/** Facts of the index about itself: their names in the copy and in this engine. */
const FACTS: Record<string, string> = {
  coverage_from: 'coverage_from',
  indexed_from: 'indexed_from',
  retained_from: 'kept_from',
}
const SEEN_TO = 'seen_to'

type MakeForm = (database: DatabaseSync, table: CopiedTable) => OwnForm

export const OWN_FORM: Record<string, MakeForm> = {
  numbers: numbersForm,
  series_rows: seriesForm,
  chain_state: stateForm,
  events: eventsForm,
  transactions: transactionsForm,
  address_rows: addressesForm,
  job_position: positionForm,
}

/** Merges the rows from blocks with the plain ones, feed by feed. */
function seriesForm(database: DatabaseSync): OwnForm {
  const columns = 'feed_id ts instrument seq text closed side usd revision recorded_at'.split(' ')
  const feeds = database.prepare('SELECT id FROM feeds WHERE id >= ? ORDER BY id')
  const counted = database.prepare(
    'SELECT (SELECT count(*) FROM series_rows) + (SELECT coalesce(sum(rows), 0) FROM packed_rows) AS n',
  )
  const plain = database.prepare(
    `SELECT feed AS feed_id, ts, instrument, seq, text, closed, side, usd, revision, recorded_at FROM series_rows
      WHERE feed = ?1 AND (ts, instrument, seq) > (?2, ?3, ?4) ORDER BY ts, instrument, seq`,
  )
  const blocks = database.prepare(
    'SELECT first_ts, data FROM packed_rows WHERE feed = ? AND last_ts >= ? ORDER BY first_ts',
  )
  const copied = (row: Record<string, unknown>): CopiedRow =>
    columns.map((column) => row[column] as CopiedValue)
  function* rowsOf(feed: number, ts: number, instrument: string, seq: number): Iterable<CopiedRow> {
    const others = plain.iterate(feed, ts, instrument, seq)
    let other = others.next()
    for (const { first_ts: first, data } of blocks.iterate(feed, ts)) {
      for (; !other.done && Number(other.value.ts) < Number(first); other = others.next())
        yield copied(other.value)
      for (const { recordedAt, ...row } of decodeRows(data as Uint8Array))
        if (row.ts > ts || (row.ts === ts && isAfterKey(row, instrument, seq)))
          yield copied({ ...row, feed_id: feed, closed: 1, recorded_at: recordedAt })
    }
    for (; !other.done; other = others.next()) yield copied(other.value)
  }
  return {
    count: () => Number(counted.get()?.n),
    *rows(after) {
      const [feed = 0, ts = -1, instrument = '', seq = -1] = after ?? []
      for (const { id } of feeds.all(Number(feed))) {
        const isHere = Number(id) === Number(feed)
        yield* isHere
          ? rowsOf(Number(id), Number(ts), String(instrument), Number(seq))
          : rowsOf(Number(id), -1, '', -1)
      }
    },
  }
}

function isAfterKey(row: { instrument: string; seq: number }, instrument: string, seq: number): boolean {
  const order = compareText(row.instrument, instrument)
  return order > 0 || (order === 0 && row.seq > seq)
}

/** The newest number that a table has assigned. It must not be assigned again, even if its row is gone. */
function numbersForm(database: DatabaseSync): OwnForm {
  const read = database.prepare(
    `SELECT name, seq FROM sqlite_sequence WHERE name IN ('audit', 'jobs') AND seq > 0 ORDER BY name`,
  )
  return {
    rows: () => read.all().map(({ name, seq }) => [String(name), Number(seq)]),
    write(rows) {
      for (const [name = null, newest = null] of rows) {
        database.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(name)
        database.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(name, newest)
      }
    },
  }
}

function stateForm(database: DatabaseSync): OwnForm {
  const log = database.prepare('SELECT name, newest_seq, bytes FROM event_log')
  const place = database.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'transactions'`)
  const facts = database.prepare('SELECT name, value FROM facts')
  return {
    rows() {
      const found = log.get()
      const known = new Map(facts.all().map(({ name, value }) => [String(name), String(value)]))
      const missed = [...known.keys()].find(
        (name) => name !== SEEN_TO && !Object.values(FACTS).includes(name),
      )
      if (missed !== undefined) throw new Error(`the fact ${missed} of the chain index is not copied`)
      const times = Object.values(FACTS).map((name) => {
        const value = known.get(name)
        return value === undefined ? null : Number(value)
      })
      const [score, hash] = known.get(SEEN_TO)?.split(' ') ?? []
      const seen = [
        hash === undefined ? null : Buffer.from(hash, 'hex'),
        score === undefined ? null : Number(score),
      ]
      const [newestSeq, newestPlace] = [Number(found?.newest_seq), Number(place.get()?.seq ?? 0)]
      const isUsed = newestSeq > 0 || newestPlace > 0 || known.size > 0
      return isUsed
        ? [[String(found?.name), newestSeq, Number(found?.bytes), newestPlace, ...times, ...seen]]
        : []
    },
    write(rows) {
      const put = database.prepare('INSERT OR REPLACE INTO facts VALUES (?, ?)')
      for (const [name = null, newestSeq = null, bytes = null, newestPlace = null, ...values] of rows) {
        database
          .prepare('UPDATE event_log SET name = ?, newest_seq = ?, bytes = ?')
          .run(name, newestSeq, bytes)
        database.prepare(`DELETE FROM sqlite_sequence WHERE name = 'transactions'`).run()
        database
          .prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('transactions', ?)`)
          .run(newestPlace)
        const stored = Object.values(FACTS)
        for (const [index, fact] of stored.entries())
          if (values[index] !== null) put.run(fact, String(values[index]))
        const [hash, score] = values.slice(stored.length)
        if (hash instanceof Uint8Array) put.run(SEEN_TO, `${score} ${Buffer.from(hash).toString('hex')}`)
      }
    },
  }
}

function eventsForm(database: DatabaseSync): OwnForm {
  const kinds = kindTable(database)
  const blocks = eventBlocks(database, kinds)
  const tail = database.prepare('SELECT * FROM event_tail WHERE seq > ? ORDER BY seq')
  const counted = database.prepare(
    `SELECT (SELECT coalesce(sum(count), 0) FROM event_blocks) + (SELECT count(*) FROM event_tail) AS n`,
  )
  const rowOf = ({ seq, kind, createdAtMs, addresses, tail }: PackedEvent): CopiedRow => [
    seq,
    kind,
    createdAtMs,
    addresses,
    tail,
  ]
  return {
    count: () => Number(counted.get()?.n),
    *rows(after) {
      let last = Number(after?.[0] ?? 0)
      for (;;) {
        const list = blocks.from(last + 1, EVENTS_AT_ONCE)
        if (list.length === 0) break
        for (const { lastSeq } of list) {
          for (const event of blocks.unpack(lastSeq)) if (event.seq > last) yield rowOf(event)
          last = lastSeq
        }
      }
      for (const row of tail.iterate(last)) yield rowOf(toParts(row, kinds))
    },
    write(rows) {
      const pack = eventPacker(database, {
        ids: logIdOf(database),
        kinds,
        addresses: addressTable(database),
      })
      const insert = database.prepare('INSERT INTO event_tail VALUES (?, ?, ?, ?, ?)')
      for (const [seq = null, kind, createdAt = null, addresses = null, text = null] of rows)
        insert.run(seq, kinds.open(String(kind)), createdAt, addresses, text)
      const newest = rows.at(-1)?.[0]
      if (typeof newest === 'number') pack(newest)
    },
  }
}

function transactionsForm(database: DatabaseSync, { columns }: CopiedTable): OwnForm {
  const texts = transactionTexts(database)
  const [place, parsed, accepting] = ['place', 'parsed', 'accepting_hash'].map((name) =>
    columns.indexOf(name),
  ) as [number, number, number]
  const stored = columns.filter((column) => column !== 'parsed')
  const names = stored.map((column) => (column === 'place' ? 'id' : column))
  const insert = database.prepare(
    `INSERT INTO transactions (${names.join()}) VALUES (${names.map(() => '?').join()})`,
  )
  const accept = database.prepare('INSERT INTO acceptances SELECT id, ? FROM chain_blocks WHERE hash = ?')
  const indexes = stored.map((column) => columns.indexOf(column))
  const fee = columns.indexOf('fee')
  return {
    complete(row) {
      row[parsed] = texts.read(row[place] as number) ?? ''
      return row
    },
    write(rows) {
      for (const row of rows) {
        const values = indexes.map((index) => {
          const value = row[index] ?? null
          return index === fee && value !== null ? BigInt(value as string) : value
        })
        insert.run(...values)
        texts.put(row[place] as number, String(row[parsed]))
        const hash = row[accepting] ?? null
        if (hash !== null) accept.run(row[place] as number, hash)
      }
      texts.pack()
    },
  }
}

/** Addresses are stored as numbers here, both in the row and as its counterparty. */
function addressesForm(database: DatabaseSync, { columns }: CopiedTable): OwnForm {
  const stored: Record<string, string> = { place: 'tx', time_ms: 'time' }
  // The `tx_id` is found through the transaction.
  const written = columns.filter((column) => column !== 'tx_id')
  const insert = database.prepare(
    `INSERT INTO address_rows (${written.map((column) => stored[column] ?? column).join()})
      VALUES (${written.map(() => '?').join()})`,
  )
  return {
    write(rows) {
      const addresses = addressTable(database)
      for (const row of rows) {
        const values = written.map((column) => {
          const value = row[columns.indexOf(column)] ?? null
          if (value === null) return null
          if (column === 'address' || column === 'counterparty') return addresses.open(String(value))
          return isBig('address_rows', column) ? BigInt(value as string) : value
        })
        insert.run(...values)
      }
    },
  }
}

function positionForm(database: DatabaseSync): OwnForm {
  const mark = database.prepare(`SELECT value FROM marks WHERE name = 'position'`)
  const log = database.prepare(`SELECT value FROM facts WHERE name = 'log'`)
  return {
    rows() {
      const [seq, id] = [mark.get()?.value, log.get()?.value]
      return seq === undefined || id === undefined ? [] : [[String(id), Number(seq)]]
    },
    write(rows) {
      for (const [id = null, seq = null] of rows) {
        database.prepare(`INSERT OR REPLACE INTO facts VALUES ('log', ?)`).run(id)
        database.prepare(`INSERT OR REPLACE INTO marks VALUES ('position', ?)`).run(seq)
      }
    },
  }
}
