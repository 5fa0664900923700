/**
 * Simulations run in separate processes, because they replace the clock of the whole process: a fixed short set here,
 * many seeds of two hours with `npm run soak`.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { withoutPostgres } from '../postgres/test-postgres.ts'
import { ROOMY } from '../roomy.ts'

const RUN = new URL('./run.ts', import.meta.url).pathname
const isLong = process.env.TAPELINE_SOAK !== undefined
/** Series of seeds, each in a separate process. The short ones draw every part. */
const HOURS = isLong ? 2 : 0.15
/** Of the worlds in which two processes are stopped. */
const LEASE_HOURS = isLong ? 2 : 0.2
const PLANT_HOURS = isLong ? 2 : 0.1
const ROWS = isLong
  ? [
      { seed: 1, many: 250 },
      { seed: 251, many: 250 },
    ]
  : [
      { seed: 4, many: 5 },
      { seed: 33, many: 3 },
    ]

async function simulate(args: readonly string[]): Promise<{ code: number; lines: string[] }> {
  const child = spawn(process.execPath, [...ROOMY, RUN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) lines.push(line)
  const [code] = await exited
  return { code: Number(code), lines }
}

const seedsFrom = (seed: number, many: number) => [
  ...['--seed', `${seed}`, '--many', `${many}`, '--hours', `${HOURS}`],
]
const rows = ROWS.map(({ seed, many }) => simulate(seedsFrom(seed, many)))

test('under every drawn schedule of faults all laws hold', async (t) => {
  const outcomes = await Promise.all(rows)
  for (const { code, lines } of outcomes) {
    t.diagnostic(lines.at(-1) ?? '')
    assert.equal(code, 0, lines.filter((line) => !line.startsWith('ok ')).join('\n'))
  }
})

test('two runs of one seed have the same tables and the same log', async () => {
  const digestOf = (lines: readonly string[], seed: number) =>
    lines
      .find((line) => line.includes(` seed ${seed}:`))
      ?.split(', ')
      .at(-1)
  await Promise.all(
    ROWS.slice(0, isLong ? ROWS.length : 1).map(async ({ seed, many }, row) => {
      // In its series, other seeds ran before it in the same process.
      const last = seed + many - 1
      const first = digestOf((await rows[row])?.lines ?? [], last)
      assert.match(first ?? '', /^[0-9a-f]{12} [0-9a-f]{12}$/)
      assert.equal(digestOf((await simulate(seedsFrom(last, 1))).lines, last), first)
    }),
  )
})

/** If PostgreSQL is available, `test/many-machines/failover.test.ts` shows the same with processes on a real clock. */
const skip = isLong || withoutPostgres !== false ? false : 'only in the long size: failover.test.ts shows it'

/** In the worlds of these seeds two processes are stopped for longer than a lease, one after the other. */
for (const { what, venue, seed, names } of [
  { what: 'a recorder', venue: 'perp', seed: 11, names: ['perp recorder a', 'perp recorder b'] },
  { what: 'an indexer', venue: 'chain', seed: 52, names: ['service a', 'service b'] },
])
  test(`${what} that was stopped while another process took its lease leaves the truth or a gap`, {
    skip,
  }, async () => {
    const args = [
      '--venue',
      venue,
      '--fault',
      'pause',
      '--seed',
      `${seed}`,
      '--hours',
      `${LEASE_HOURS}`,
      '--log',
    ]
    const { code, lines } = await simulate(args)
    assert.equal(code, 0, lines.join('\n'))
    const lost = lines.filter((line) => line.includes('this process does not lead any more'))
    for (const name of names)
      assert.ok(
        lost.some((line) => line.includes(name)),
        lines.join('\n'),
      )
  })

test('a planted defect is found', async (t) => {
  const { code, lines } = await simulate([
    '--plant',
    'retraction missing',
    '--venue',
    'chain',
    '--hours',
    `${PLANT_HOURS}`,
  ])
  t.diagnostic(lines[0] ?? '')
  assert.equal(code, 0, lines.join('\n'))
})

test('a wrong option is named', async () => {
  assert.equal((await simulate(['--hours', 'x'])).code, 2)
  assert.equal((await simulate(['--venue', 'nowhere'])).code, 2)
})
