/**
 * Simulations in processes of their own, since they replace the clock of the whole process: a fixed short set here,
 * many seeds of two hours in the soak.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'

const RUN = new URL('./run.ts', import.meta.url).pathname
const isLong = process.env.TAPELINE_SOAK !== undefined
/** Hours, seeds in a row, and with which the rows begin. */
const SIZE = isLong ? { hours: 2, many: 250, rows: [1, 251] } : { hours: 0.4, many: 5, rows: [1, 11] }

async function simulate(args: readonly string[]): Promise<{ code: number; lines: string[] }> {
  const child = spawn(process.execPath, [RUN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) lines.push(line)
  const [code] = await exited
  return { code: Number(code), lines }
}

const seedsFrom = (seed: number, many: number) => [
  ...['--seed', `${seed}`, '--many', `${many}`, '--hours', `${SIZE.hours}`],
]

test('under every drawn schedule of faults all laws hold', async (t) => {
  const outcomes = await Promise.all(SIZE.rows.map((seed) => simulate(seedsFrom(seed, SIZE.many))))
  for (const { code, lines } of outcomes) {
    t.diagnostic(lines.at(-1) ?? '')
    assert.equal(code, 0, lines.filter((line) => !line.startsWith('ok ')).join('\n'))
  }
})

test('two runs of one seed have the same tables and the same log', async () => {
  const digestsOf = async () =>
    (await simulate(seedsFrom(6, 2))).lines
      .filter((line) => line.includes(' seed '))
      .map((line) => line.split(', ').at(-1))
  const [first, second] = await Promise.all([digestsOf(), digestsOf()])
  assert.equal(first.length, 2)
  assert.match(first[0] ?? '', /^[0-9a-f]{12} [0-9a-f]{12}$/)
  assert.deepEqual(first, second)
})

test('a planted defect is found', async (t) => {
  const { code, lines } = await simulate([
    '--plant',
    'retraction missing',
    '--venue',
    'chain',
    '--hours',
    `${SIZE.hours}`,
  ])
  t.diagnostic(lines[0] ?? '')
  assert.equal(code, 0, lines.join('\n'))
})

test('a wrong option is named', async () => {
  assert.equal((await simulate(['--hours', 'x'])).code, 2)
  assert.equal((await simulate(['--venue', 'nowhere'])).code, 2)
})
