import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../../../test/until.ts'
import { findHost, type HostAttempt } from './find-host.ts'

/** Host names that no other test uses, because the host found last is remembered. */
let number = 0
function hostsOf(count: number) {
  number++
  return Array.from({ length: count }, (_, port) => ({ host: `h${number}`, port }))
}
/** Each test has its own system. */
const server = (timeline = 1) => ({ system: `system ${number}`, timeline })
const writable = (found: string, timeline?: number): HostAttempt<string> => ({
  ...{ found, isWritable: true, server: server(timeline) },
})
const readOnly = (found: string): HostAttempt<string> => ({ found, isWritable: false, server: server() })
const standby = (timeline: number): HostAttempt<string> => ({
  ...{ found: undefined, isWritable: false, server: server(timeline) },
})
const never = () => new Promise<undefined>(() => {})

function search(
  hosts: ReturnType<typeof hostsOf>,
  answers: (() => Promise<HostAttempt<string> | undefined>)[],
) {
  const tried: number[] = []
  const left: string[] = []
  const replaced: number[] = []
  const found = findHost(hosts, {
    attempt: ({ port }) => {
      tried.push(port)
      return answers[port]?.() ?? Promise.resolve(undefined)
    },
    letGo: (each) => void left.push(each),
    onReplaced: ({ port }) => void replaced.push(port),
  })
  return { tried, left, replaced, found }
}

test('the first host that accepts writes is taken, and is the first to be tried the next time', async () => {
  const hosts = hostsOf(3)
  const answers = [async () => undefined, async () => writable('b'), async () => writable('c')]
  const first = search(hosts, answers)
  assert.equal(await first.found, 'b')
  assert.deepEqual(first.tried, [0, 1, 2], 'all are compared')
  assert.deepEqual(first.left, ['c'])
  const second = search(hosts, answers)
  assert.equal(await second.found, 'b')
  assert.deepEqual(second.tried, [1])
})

test('a host that does not answer holds up the next one for a moment only', async () => {
  const startedMs = performance.now()
  assert.equal(await search(hostsOf(2), [never, async () => writable('b')]).found, 'b')
  assert.ok(performance.now() - startedMs < 20_000)
})

test('a slow host that answers after another was taken is let go', async () => {
  const slow = async () => {
    await wait(1_300)
    return writable('a')
  }
  const { found, left } = search(hostsOf(2), [slow, async () => writable('b')])
  assert.equal(await found, 'b')
  await until('it is let go', () => left.length > 0)
  assert.deepEqual(left, ['a'])
})

test('a host that refuses writes is taken where no other accepts them, and let go where one does', async () => {
  assert.equal(await search(hostsOf(2), [async () => readOnly('a'), async () => undefined]).found, 'a')
  const both = search(hostsOf(3), [
    async () => readOnly('a'),
    async () => readOnly('b'),
    async () => writable('c'),
  ])
  assert.equal(await both.found, 'c')
  assert.deepEqual(both.left.sort(), ['a', 'b'])
  assert.equal(await search(hostsOf(2), []).found, undefined)
})

test('of two that accept writes the newer one is taken by who has found none before', async () => {
  const { found, left, replaced } = search(hostsOf(2), [
    async () => writable('old', 1),
    async () => writable('new', 2),
  ])
  assert.equal(await found, 'new')
  assert.deepEqual(left, ['old'])
  assert.deepEqual(replaced, [0])
})

test('a server that was replaced is refused, also where its successor does not answer', async () => {
  const hosts = hostsOf(2)
  assert.equal(await search(hosts, [async () => undefined, async () => writable('new', 2)]).found, 'new')
  const later = search(hosts, [async () => writable('old', 1), async () => undefined])
  assert.equal(await later.found, undefined)
  assert.deepEqual(later.left, ['old'])
  const behind = search(hostsOf(2), [async () => writable('old', 1), async () => standby(2)])
  assert.equal(await behind.found, undefined, 'a standby of the successor knows it too')
})
