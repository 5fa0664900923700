import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_KINDS, type EventKind, isChainKind } from './kinds.ts'
import { createMatcher, type EventSelection } from './match.ts'

test('an event matches exactly its subscriptions, also after others were removed', () => {
  let state = 9
  const pick = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const matcher = createMatcher<number>()
  const standing = new Map<number, { selection: EventSelection; leave: () => void }>()
  for (let round = 0; round < 3_000; round++) {
    if (pick(3) > 0 || standing.size === 0) {
      const selection: EventSelection = {
        kinds: EVENT_KINDS.filter(() => pick(4) === 0),
        ...(pick(2) === 0 ? {} : { addresses: Array.from({ length: pick(4) }, () => `a${pick(20)}`) }),
      }
      standing.set(round, { selection, leave: matcher.add(round, selection) })
    } else {
      const [id, entry] = [...standing][pick(standing.size)] ?? []
      if (id === undefined) continue
      entry?.leave()
      entry?.leave()
      standing.delete(id)
    }
    assert.equal(matcher.size, standing.size)
    if (round % 10 > 0) continue
    const kind = EVENT_KINDS[pick(EVENT_KINDS.length)] as EventKind
    const addresses = isChainKind(kind) ? [] : [`a${pick(20)}`, `a${pick(20)}`]
    const wanted = [...standing].filter(
      ([, { selection }]) =>
        selection.kinds.includes(kind) &&
        (isChainKind(kind) ||
          !selection.addresses?.length ||
          selection.addresses.some((one) => addresses.includes(one))),
    )
    assert.deepEqual(
      [...matcher.match({ kind, addresses })].sort((a, b) => a - b),
      wanted.map(([id]) => id),
    )
  }
})

test('the cost of matching an event is the same for a hundred and for a hundred thousand subscriptions', () => {
  const costOf = (subscriptions: number): number => {
    const matcher = createMatcher<number>()
    for (let i = 0; i < subscriptions; i++) {
      matcher.add(i, { kinds: ['utxos_changed', 'mempool_entry'], addresses: [`a${i}`] })
    }
    const events = Array.from({ length: 2_000 }, (_, i) => ({
      kind: 'utxos_changed',
      addresses: [`a${(i * 7919) % subscriptions}`],
    }))
    const runs = Array.from({ length: 15 }, () => {
      const startedMs = performance.now()
      let found = 0
      for (const event of events) for (const _ of matcher.match(event)) found++
      assert.equal(found, events.length)
      return performance.now() - startedMs
    })
    return Math.min(...runs)
  }
  costOf(1_000)
  const [few, many] = [costOf(100), costOf(100_000)]
  // Caches make lookups in a large table slower, but a scan would be a thousand times slower.
  assert.ok(many < few * 50 + 1, `${few} ms for 100, ${many} ms for 100,000`)
})
