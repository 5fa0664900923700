import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresPlace, postgresRows, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { systemClock } from '../../kit/clock.ts'
import { StoreClosedError } from '../environment.ts'
import { parsePostgresAddress } from './address.ts'
import { statement } from './database.ts'
import { askTogether } from './one-turn.ts'
import { openDatabase } from './open-database.ts'

const SHARE = statement('share', 'SELECT 12 / $1::int AS part, pg_backend_pid() AS pid')
const SEVERAL_SHARES = statement(
  'several_shares',
  'SELECT place, 12 / part AS part FROM unnest($1::int[]) WITH ORDINALITY q (part, place) ORDER BY place DESC',
)
const JOINED_SHARE = statement('joined_share', 'SELECT 12 / $1::int AS part', SEVERAL_SHARES)
const TWO_OF_ALL = 'SELECT place, 1 AS part FROM unnest($1::int[]) WITH ORDINALITY q (part, place) LIMIT 2'
const SLEEP = statement('sleep', 'SELECT pg_sleep($1), pg_backend_pid() AS pid')

test('statements of one turn share connections, and each has its own answer', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const address = parsePostgresAddress(place.address, 8)
  const database = openDatabase({
    ...{ address, schema: address.schema, label: 'turns', migrations: [], clock: systemClock },
  })
  try {
    const answers = await Promise.allSettled(
      Array.from({ length: 16 }, (_, n) => database.shortRows<{ part: number; pid: number }>(SHARE, [n % 4])),
    )
    const pids = new Set<number>()
    for (const [n, answer] of answers.entries()) {
      // A statement that fails does not affect the others.
      assert.equal(answer.status, n % 4 === 0 ? 'rejected' : 'fulfilled')
      if (answer.status === 'rejected') continue
      const [row] = answer.value
      assert.equal(row?.part, 12 / (n % 4))
      pids.add(row?.pid ?? 0)
    }
    assert.ok(pids.size <= 2, `${pids.size} connections`)

    // When a connection ends, its unanswered statements fail, but not those after them.
    const cut = [0.01, 30, 30].map((seconds) => database.shortRows<{ pid: number }>(SLEEP, [seconds]))
    const outcomes = Promise.allSettled(cut)
    const [first] = (await cut[0]) ?? []
    await postgresRows('SELECT pg_terminate_backend($1::int)', [first?.pid])
    for (const outcome of (await outcomes).slice(1))
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailableError)
    assert.equal((await database.shortRows<{ part: number }>(SHARE, [3]))[0]?.part, 4)
  } finally {
    await database.close()
    await place.remove()
  }
  await assert.rejects(database.shortRows(SHARE, [1]), StoreClosedError)
})

test('statements that differ in their values become one, and each has its own answer', {
  skip: withoutPostgres,
}, async () => {
  const sent: { name: string; values: readonly unknown[] }[] = []
  const place = postgresPlace()
  const address = parsePostgresAddress(place.address, 8)
  const database = openDatabase({
    ...{ address, schema: address.schema, label: 'turns', migrations: [], clock: systemClock },
  })
  const ask = askTogether((asked) => {
    for (const { statement, values, resolve, reject } of asked) {
      sent.push({ name: statement.name, values })
      database.rows(statement, values).then(resolve, reject)
    }
  })
  const part = async (value: number) => (await ask<{ part: number }>(JOINED_SHARE, [value]))[0]?.part
  try {
    const parts = [3, 4, 1, 2, 6, 12, 3, 4, 6]
    const answers = await Promise.all([...parts.map(part), ask<{ part: number }>(SHARE, [2])])
    assert.deepEqual(
      answers.slice(0, -1),
      parts.map((each) => 12 / each),
    )
    assert.deepEqual(sent, [
      { name: 'several_shares', values: [parts.slice(0, 8)] },
      { name: 'joined_share', values: [6] },
      { name: 'share', values: [2] },
    ])
    await assert.rejects(Promise.all([part(0), part(1)]), /division by zero/)
    assert.equal(await part(1), 12)
    const incomplete = statement('incomplete', JOINED_SHARE.text, statement('two_of_all', TWO_OF_ALL))
    const outcomes = await Promise.allSettled([1, 2, 3].map((value) => ask(incomplete, [value])))
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    )
  } finally {
    await database.close()
    await place.remove()
  }
})
