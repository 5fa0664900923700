import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../core/time.ts'
import { CheckpointMovedError, type HistoryPlace } from '../chain.ts'
import type { CovenantChange } from '../covenants.ts'
import { amountPlace, holderKey, type TokenChange, type TokenEntry, tokenKey } from '../tokens.ts'
import {
  address,
  block,
  type ChainEngine,
  event,
  hash,
  NOW,
  payment,
  readAll,
  writeNext,
} from './chain-engine.ts'
import { seeded } from './engine.ts'

/** What every engine's chain index must guarantee. */
export function chainIndexSuite(engine: ChainEngine, rounds: number): void {
  test(`${engine.name}: a write with a fault in it leaves nothing behind, neither rows nor events`, async () => {
    const open = await engine.open()
    const { chain, events } = open
    await writeNext(chain, { atMs: 1, start: block(1) })
    await assert.rejects(
      writeNext(chain, {
        atMs: 2,
        added: [block(2, [payment(1, 1, 5n, 0)])],
        removed: [hash(77)],
        events: [event('utxos_changed', [address(1)])],
      }),
    )
    assert.equal((await chain.checkpoint())?.hash, hash(1))
    assert.equal(await chain.transaction(hash(1)), undefined)
    assert.deepEqual(await readAll(events), [])
    await writeNext(chain, {
      atMs: 3,
      added: [block(2, [payment(1, 1, 5n, 0)])],
      events: [event('utxos_changed', [address(1)])],
    })
    assert.equal((await chain.addressPage({ address: address(1), limit: 5 })).rows.length, 1)
    await open.remove()
  })

  test(`${engine.name}: pending, confirmed, pending again, dropped, seen again: row and transaction agree`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 1, start: block(1) })
    const statusOf = async () => {
      const row = (await chain.addressPage({ address: address(1), limit: 5 })).rows[0]
      const transaction = await chain.transaction(hash(1))
      assert.equal(row?.status, transaction?.status)
      assert.equal(row?.blockTimeMs, transaction?.blockTimeMs)
      return transaction?.status
    }
    const { blockHash: _, blockTimeMs: __, ...record } = payment(1, 1, 2n ** 62n)
    await writeNext(chain, { atMs: 2, entered: [record] })
    assert.equal(await statusOf(), 'pending')
    assert.deepEqual(await chain.pending(10), [hash(1)])
    assert.deepEqual([await chain.pending(10, 1), await chain.pending(10, 2)], [[hash(1)], []])
    const { newestSeq } = await writeNext(chain, {
      atMs: 3,
      added: [block(2, [payment(1, 1, 2n ** 62n, 1)])],
      events: [event('x'), event('utxos_changed', [address(1)])],
    })
    assert.equal(newestSeq, 2)
    assert.equal(await statusOf(), 'confirmed')
    const [row] = (await chain.addressPage({ address: address(1), limit: 5 })).rows
    assert.equal(row?.amount, 2n ** 62n)
    assert.equal((await chain.transaction(hash(1)))?.acceptingBlockHash, hash(2))
    const [undone] = await chain.confirmedBy([hash(2)])
    const stored = await open.events.after({ afterSeq: 1, limit: 1 })
    assert.deepEqual(undone?.events, [{ address: address(1), eventId: stored.events[0]?.id }])
    await writeNext(chain, { atMs: 4, removed: [hash(2)] })
    assert.equal(await statusOf(), 'pending')
    assert.equal((await chain.transaction(hash(1)))?.acceptingBlockHash, null)
    assert.equal((await chain.checkpoint())?.hash, hash(1))
    await writeNext(chain, { atMs: 5, dropped: [{ txId: hash(1), replacedBy: hash(3) }] })
    assert.equal(await statusOf(), 'dropped')
    assert.equal((await chain.transaction(hash(1)))?.replacedBy, hash(3))
    await writeNext(chain, { atMs: 6, entered: [{ ...record, effects: [] }] })
    assert.equal(await statusOf(), 'pending')
    assert.equal((await chain.transaction(hash(1)))?.replacedBy, null)
    assert.deepEqual((await chain.known([hash(1), hash(2)])).get(hash(1)), {
      status: 'pending',
      hasMempoolEvent: true,
      hasAcceptedEvent: true,
    })
    const output = { amount: 2n ** 62n, scriptPublicKey: '0000aa', covenantId: null }
    const points = [1, 0, 0].map((index, place) => ({ txId: hash(place === 2 ? 9 : 1), index }))
    assert.deepEqual(await chain.outputs(points), [undefined, output, undefined])
    const reopened = await open.reopen()
    assert.equal((await reopened.chain.transaction(hash(1)))?.status, 'pending')
    await open.remove()
  })

  test(`${engine.name}: one that entered without rows gets them, its text and its fee when it enters with them`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 1, start: block(1) })
    const { blockHash: _, blockTimeMs: __, ...record } = payment(1, 1, 5n)
    const rows = async () => {
      const page = await chain.addressPage({ address: address(1), limit: 5 })
      return page.rows.map(({ txId, status, amount }) => [txId, status, amount])
    }
    const bare = { ...record, fee: null, effects: [], parsed: record.parsed.replace('{', '{ ') }
    await writeNext(chain, { atMs: 2, entered: [bare] })
    assert.deepEqual(await rows(), [])
    assert.equal((await chain.transaction(hash(1)))?.status, 'pending')
    await writeNext(chain, { atMs: 3, entered: [bare] })
    await writeNext(chain, { atMs: 4, entered: [{ ...record, fee: 3n }] })
    const found = await chain.transaction(hash(1))
    assert.deepEqual([found?.fee, found?.parsed], [3n, record.parsed])
    await writeNext(chain, { atMs: 5, entered: [{ ...record, parsed: bare.parsed }, payment(2, 1, 6n)] })
    assert.equal((await chain.transaction(hash(1)))?.parsed, record.parsed, 'rows and text belong together')
    assert.deepEqual(await rows(), [
      [hash(2), 'pending', 6n],
      [hash(1), 'pending', 5n],
    ])
    await open.remove()
  })

  test(`${engine.name}: the followed chain can be walked down and up, and starts again after a gap`, async () => {
    const open = await engine.open()
    const { chain } = open
    assert.equal(await chain.checkpoint(), undefined)
    assert.equal(await chain.coverageFromMs(), undefined)
    await writeNext(chain, { atMs: 1, start: block(10), added: [11, 12, 13, 14].map((n) => block(n)) })
    assert.equal(await chain.coverageFromMs(), 1_000)
    assert.equal((await chain.chainBlockBelow(1))?.hash, hash(13))
    assert.equal((await chain.chainBlockBelow(100))?.hash, hash(10))
    assert.deepEqual(
      (await chain.chainAbove(hash(12)))?.map(({ blueScore }) => blueScore),
      [13, 14],
    )
    assert.equal(await chain.chainAbove(hash(99)), undefined)
    await writeNext(chain, { atMs: 2, removed: [hash(14), hash(13)], added: [block(23), block(24)] })
    assert.deepEqual(
      (await chain.chainAbove(hash(12)))?.map(({ blueScore }) => blueScore),
      [23, 24],
    )
    const gap = {
      atMs: 3,
      fromHash: hash(24),
      fromBlueScore: 24,
      fromTimeMs: 2_400,
      toHash: hash(50),
      toTimeMs: 5_000,
      reason: 'pruned',
    } as const
    await writeNext(chain, { atMs: 3, start: block(50), gaps: [gap] })
    assert.deepEqual(await chain.gaps(), [gap])
    assert.equal(await chain.coverageFromMs(), 5_000)
    assert.equal(await chain.indexedFromMs(), 1_000, 'what was indexed before the gap is still there')
    assert.equal((await chain.checkpoint())?.hash, hash(50))
    const unreported = { ...gap, atMs: 4, toTimeMs: 7_000, reason: 'blocks_pruned' } as const
    await writeNext(chain, { atMs: 4, gaps: [unreported] })
    assert.equal(await chain.coverageFromMs(), 5_000, 'the chain is whole')
    const unread = { ...gap, atMs: 5, toTimeMs: 5_100, reason: 'unreadable' } as const
    await writeNext(chain, { atMs: 5, added: [block(51)], gaps: [unread, { ...unread, toTimeMs: 5_050 }] })
    assert.equal(await chain.coverageFromMs(), 5_100, 'not every transaction of that block is indexed')
    assert.deepEqual(
      (await chain.gaps(2)).map(({ toTimeMs }) => toTimeMs),
      [5_100, 5_050],
      'the newest, oldest first',
    )
    assert.equal(await chain.chainAbove(hash(24)), undefined)
    await open.remove()
  })

  test(`${engine.name}: a history is in the order of block times, then of acceptance, with pending ones first`, async () => {
    const open = await engine.open()
    const { chain } = open
    const pick = seeded(3).below
    await writeNext(chain, { atMs: 1, start: block(1) })
    let next = 2
    let tx = 1
    /** What the chain has accepted, in its order, and what is pending, in the order in which it was first seen. */
    const accepted: { tx: number; timeMs: number; by: number }[] = []
    const pending: number[] = []
    const pay = (number: number, timeMs: number) => ({ ...payment(number, 1, 5n), blockTimeMs: timeMs })
    const grow = async () => {
      const blockTimes = () => next * 10 - pick(4) * 20
      const entered = Array.from({ length: pick(3) }, () => tx++)
      await writeNext(chain, {
        atMs: next,
        entered: entered.map((number) => {
          const { blockHash: _, blockTimeMs: __, ...record } = pay(number, 0)
          return record
        }),
      })
      pending.push(...entered)
      const removed = pick(4) === 0 ? accepted.filter(({ by }) => by === next - 1) : []
      accepted.splice(accepted.length - removed.length)
      const tip = (await chain.checkpoint())?.hash ?? ''
      pending.push(...removed.map((one) => one.tx))
      const taken = pending.filter(() => pick(2) === 0)
      const fresh = Array.from({ length: pick(3) }, () => tx++)
      const now = [...taken, ...fresh].map((number) => ({ tx: number, timeMs: blockTimes(), by: next }))
      accepted.push(...now)
      for (const number of taken) pending.splice(pending.indexOf(number), 1)
      pending.sort((a, b) => a - b)
      await writeNext(chain, {
        atMs: next,
        removed: removed.length > 0 ? [tip] : [],
        added: [
          block(
            next++,
            now.map((one) => pay(one.tx, one.timeMs)),
          ),
        ],
      })
    }
    for (let round = 0; round < rounds + 5; round++) {
      for (let i = 0; i < 5; i++) await grow()
      const byTime = accepted.map((one, order) => ({ ...one, order }))
      byTime.sort((a, b) => b.timeMs - a.timeMs || b.order - a.order)
      const expected = [...pending.toReversed(), ...byTime.map((one) => one.tx)]
      const walked: number[] = []
      for (let before: HistoryPlace | undefined; ; ) {
        const page = await chain.addressPage({
          address: address(1),
          limit: 1 + pick(9),
          ...(before ? { before } : {}),
        })
        walked.push(...page.rows.map((row) => Number.parseInt(row.txId, 16)))
        before = page.rows.at(-1)?.place
        if (!page.hasMore) break
      }
      assert.deepEqual(walked, expected)
      const afterMs = next * 10 - 300
      let moved = 0n
      for (let after: HistoryPlace | undefined; ; ) {
        const step = await chain.addressMoved({
          ...{ address: address(1), afterMs, limit: 1 + pick(20) },
          ...(after ? { after } : {}),
        })
        moved += step.received - step.sent
        after = step.next
        if (after === undefined) break
      }
      assert.equal(moved, BigInt(accepted.filter(({ timeMs }) => timeMs > afterMs).length) * 5n)
    }
    await open.remove()
  })

  test(`${engine.name}: a walk misses no row that stays in the chain, while others arrive, leave and return`, async () => {
    const open = await engine.open()
    const { chain } = open
    const pick = seeded(5).below
    await writeNext(chain, { atMs: 1, start: block(1) })
    let next = 2
    let tx = 1
    const grow = async () => {
      const fresh = Array.from({ length: pick(3) }, () => ({
        ...payment(tx++, 1, 1n),
        blockTimeMs: next * 10,
      }))
      await writeNext(chain, { atMs: next, added: [block(next++, fresh)] })
      if (pick(4) === 0) {
        const tip = await chain.checkpoint()
        await writeNext(chain, { atMs: next, removed: [tip?.hash ?? ''], added: [block(next++)] })
      }
    }
    for (let i = 0; i < 20; i++) await grow()
    for (let round = 0; round < rounds; round++) {
      const there = (await chain.addressPage({ address: address(1), limit: 10_000 })).rows
      const walked: string[] = []
      for (let before: HistoryPlace | undefined; ; ) {
        const page = await chain.addressPage({
          address: address(1),
          limit: 1 + pick(9),
          ...(before ? { before } : {}),
        })
        walked.push(...page.rows.map((row) => row.txId))
        before = page.rows.at(-1)?.place
        if (!page.hasMore) break
        if (pick(2) === 0) await grow()
      }
      const stayed = new Set(
        (await chain.addressPage({ address: address(1), limit: 10_000 })).rows
          .filter(({ status }) => status === 'confirmed')
          .map(({ txId }) => txId),
      )
      const expected = there.filter(({ txId, status }) => status === 'confirmed' && stayed.has(txId))
      assert.deepEqual(
        walked.filter((txId) => expected.some((row) => row.txId === txId)),
        expected.map(({ txId }) => txId),
      )
    }
    await open.remove()
  })

  test(`${engine.name}: covenants follow the chain, also back, and say nothing about what a gap may have spent`, async () => {
    const open = await engine.open()
    const { chain } = open
    const id = hash(700)
    const change = (
      kind: string,
      spent: readonly (readonly [number, number])[],
      created: readonly number[],
    ): CovenantChange => ({
      covenantId: id,
      text: `{"kind":"${kind}"}`,
      spent: spent.map(([tx, index]) => ({ txId: hash(tx), index })),
      created: created.map((to, index) => ({
        index,
        amount: 2n ** 62n,
        scriptPublicKey: '0000aa',
        address: address(to),
      })),
    })
    const pay = (tx: number, covenants: readonly CovenantChange[]) => ({ ...payment(tx, 1, 1n), covenants })
    const unspent = async () =>
      (await chain.covenantUtxos({ covenantId: id, limit: 10 })).utxos.map(
        (utxo) => `${Number.parseInt(utxo.txId, 16)}:${utxo.index}`,
      )
    await writeNext(chain, { atMs: 1, start: block(10) })
    await writeNext(chain, { atMs: 2, added: [block(11, [pay(1, [change('genesis', [], [1, 2])])])] })
    await writeNext(chain, { atMs: 3, added: [block(12, [pay(2, [change('continuation', [[1, 0]], [2])])])] })
    assert.deepEqual(await unspent(), ['1:1', '2:0'])
    const held = (await chain.addressCovenants({ address: address(2), limit: 10 })).utxos
    assert.deepEqual(
      held.map((utxo) => [utxo.covenantId, utxo.amount]),
      [
        [id, 2n ** 62n],
        [id, 2n ** 62n],
      ],
    )
    assert.deepEqual((await chain.addressCovenants({ address: address(1), limit: 10 })).utxos, [])
    await writeNext(chain, { atMs: 4, removed: [hash(12)], added: [block(13)] })
    assert.deepEqual(await unspent(), ['1:0', '1:1'])
    await writeNext(chain, {
      atMs: 5,
      added: [
        block(14, [
          pay(3, [
            change(
              'burn',
              [
                [1, 0],
                [1, 1],
              ],
              [],
            ),
          ]),
          pay(2, []),
        ]),
      ],
    })
    assert.deepEqual(await unspent(), [])
    const { steps } = await chain.covenantSteps({ covenantId: id, limit: 10 })
    assert.deepEqual(
      steps.map(({ txId, text }) => [Number.parseInt(txId, 16), text]),
      [
        [3, '{"kind":"burn"}'],
        [1, '{"kind":"genesis"}'],
      ],
    )
    assert.equal((await chain.firstCovenantStep(id))?.txId, hash(1))
    const page = await chain.covenantSteps({ covenantId: id, limit: 1 })
    assert.ok(page.hasMore)
    const before = page.steps[0]?.rank ?? 0
    assert.equal((await chain.covenantSteps({ covenantId: id, limit: 1, before })).steps[0]?.txId, hash(1))
    await writeNext(chain, { atMs: 6, removed: [hash(14)] })
    assert.deepEqual(await unspent(), ['1:0', '1:1'])
    await writeNext(chain, { atMs: 7, start: block(60) })
    assert.deepEqual(await unspent(), [], 'what was not spent before the gap may be spent after it')
    const keep = { maxTransactionAgeMs: 0, maxDroppedAgeMs: 0, chainBlocks: 3, maxSeenAgeMs: 0 }
    while ((await chain.prune(keep)).more);
    assert.equal(await chain.firstCovenantStep(id), undefined)
    await open.remove()
  })

  test(`${engine.name}: entries of tokens follow the chain, also back, and can be forgotten`, async () => {
    const open = await engine.open()
    const { chain } = open
    const entry = (amount: bigint | null, who = 'a'): TokenEntry | null =>
      amount === null
        ? null
        : { token: 'T', kind: 'holder', place: amountPlace(amount), value: `"${who} ${amount}"` }
    const holder = (who: string, before: bigint | null, after: bigint | null): TokenChange => ({
      key: holderKey('T', who),
      before: entry(before, who),
      after: entry(after, who),
    })
    const move = (tx: number, tokens: readonly TokenChange[], retractable: number[] = []) => ({
      ...payment(tx, 1, 1n),
      tokens,
      retractable,
    })
    const held = async () =>
      (await chain.tokenHolders({ token: 'T', limit: 10 })).holders.map(({ value }) => value)
    const token: TokenEntry = { token: 'T', kind: 'token', place: '', value: '{"form":"krc20"}' }
    await writeNext(chain, { atMs: 1, start: block(10) })
    const made = { key: tokenKey('T'), before: null, after: token }
    await writeNext(chain, {
      atMs: 2,
      events: [event('x', [], 1, '1'), event('x', [], 1, '2')],
      added: [block(11, [move(1, [made, holder('a', null, 9n), holder('b', null, 10n)], [1])])],
    })
    const moved = [holder('a', 9n, null), holder('b', 10n, 2n ** 80n)]
    await writeNext(chain, {
      atMs: 3,
      events: [event('x', [], 1, '3')],
      added: [block(12, [move(2, moved, [0]), move(3, [holder('b', 2n ** 80n, 7n), holder('c', null, 8n)])])],
    })
    assert.deepEqual(await held(), ['"c 8"', '"b 7"'])
    assert.deepEqual(await chain.tokens({ limit: 10 }), {
      tokens: [{ token: 'T', value: token.value }],
      hasMore: false,
    })
    assert.equal(await chain.token('T'), token.value)
    assert.equal(await chain.token('U'), undefined)
    const page = await chain.tokenHolders({ token: 'T', limit: 1 })
    assert.ok(page.hasMore)
    const [first] = page.holders
    assert.ok(first)
    const rest = await chain.tokenHolders({ token: 'T', limit: 1, after: first })
    assert.deepEqual([rest.holders.map(({ key }) => key), rest.hasMore], [[holderKey('T', 'b')], false])

    const keys = ['a', 'b', 'c'].map((who) => holderKey('T', who))
    const without = await chain.tokenEntries(keys, [hash(12)])
    assert.deepEqual(
      keys.map((key) => without.get(key)),
      [entry(9n, 'a'), entry(10n, 'b'), undefined],
      'as before the block',
    )
    assert.deepEqual((await chain.tokenEntries(keys, [])).get(keys[0] as string), undefined)
    const reported = await chain.retractable([hash(12), hash(11)])
    assert.deepEqual(
      reported.map(({ tail }) => tail),
      [event('x', [], 1, '3').tail, event('x', [], 1, '2').tail],
    )
    const events = await readAll(open.events)
    assert.deepEqual(
      reported.map(({ eventId }) => eventId),
      [events[2]?.id, events[1]?.id],
    )
    await writeNext(chain, {
      atMs: 4,
      removed: [hash(12)],
      added: [block(13, [move(4, [holder('c', null, 1n)])])],
    })
    assert.deepEqual(await held(), ['"b 10"', '"a 9"', '"c 1"'])
    assert.deepEqual((await chain.retractable([hash(13)])).length, 0)
    const keep = { maxTransactionAgeMs: null, maxDroppedAgeMs: 0, chainBlocks: 1, maxSeenAgeMs: 0 }
    while ((await chain.prune(keep)).more);
    assert.deepEqual(await held(), ['"b 10"', '"a 9"', '"c 1"'], 'what can no longer be undone stays')
    await writeNext(chain, {
      atMs: 5,
      forgetTokens: true,
      added: [block(14, [move(5, [holder('d', null, 5n)])])],
    })
    assert.deepEqual(await held(), ['"d 5"'])
    await writeNext(chain, { atMs: 6, removed: [hash(14)] })
    assert.deepEqual(await held(), [])
    await open.remove()
  })

  test(`${engine.name}: a chain that begins below the end of the one before takes the places of its steps, and retracts its events once`, async () => {
    const open = await engine.open()
    const { chain } = open
    const covenantId = hash(700)
    const created = [{ index: 0, amount: 5n, scriptPublicKey: '0000aa', address: address(1) }]
    const accepted = (tx: number) => ({
      ...payment(tx, 1, 1n),
      covenants: [{ covenantId, text: `{"n":${tx}}`, spent: [], created }],
      retractable: [0],
    })
    const added = (n: number, score: number, tx: number) => ({
      ...block(n, [accepted(tx)]),
      blueScore: score,
    })
    const events = [event('x')]
    await writeNext(chain, { atMs: 1, start: block(10) })
    await writeNext(chain, { atMs: 2, events, added: [added(20, 20, 1)] })
    await writeNext(chain, { atMs: 3, events, added: [added(21, 21, 2)] })
    await writeNext(chain, { atMs: 4, start: block(15) })
    await writeNext(chain, { atMs: 5, events, added: [added(30, 19, 1)] })
    await writeNext(chain, { atMs: 6, events, added: [added(31, 20, 3)] })
    const { steps } = await chain.covenantSteps({ covenantId, limit: 10 })
    assert.deepEqual(
      steps.map(({ text }) => text),
      ['{"n":2}', '{"n":3}', '{"n":1}'],
    )
    assert.equal((await chain.retractable([hash(31)])).length, 3)
    await writeNext(chain, { atMs: 7, removed: [hash(31)] })
    await writeNext(chain, { atMs: 8, events, added: [added(32, 20, 4)] })
    assert.equal((await chain.retractable([hash(32)])).length, 1)
    await open.remove()
  })

  test(`${engine.name}: pruning deletes transactions, blocks and positions in steps, and moves the start of coverage`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 10, start: block(1) })
    for (let n = 2; n < 12; n++) {
      const paid = { ...payment(n, 1, 1n), blockTimeMs: n * 10 }
      await writeNext(chain, { atMs: n * 10, added: [block(n, [paid])], seen: [hash(n)] })
    }
    assert.deepEqual(await chain.unseen([hash(5), hash(500), hash(500)]), [hash(500)])
    const age = NOW - 60
    const keep = { maxTransactionAgeMs: age, maxDroppedAgeMs: NOW, chainBlocks: 3, maxSeenAgeMs: 50 }
    while ((await chain.prune(keep)).more);
    const { rows } = await chain.addressPage({ address: address(1), limit: 100 })
    assert.deepEqual(
      rows.map((row) => Number.parseInt(row.txId, 16)),
      [11, 10, 9, 8, 7, 6],
    )
    assert.equal(await chain.transaction(hash(5)), undefined)
    assert.equal((await chain.chainBlockBelow(1_000))?.hash, hash(9))
    assert.equal(await chain.coverageFromMs(), 100)
    assert.deepEqual(await chain.unseen([hash(5), hash(6)]), [hash(5)])
    assert.equal((await chain.confirmedBy([hash(11)])).length, 1)
    await open.remove()
  })

  test(`${engine.name}: recorded blocks stay known while no new ones are recorded, however long that is`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 10, start: block(1), seen: [hash(1)] })
    await writeNext(chain, { atMs: 60, seen: [hash(2)] })
    const keep = { maxTransactionAgeMs: null, maxDroppedAgeMs: NOW, chainBlocks: 3, maxSeenAgeMs: 50 }
    while ((await chain.prune(keep)).more);
    assert.deepEqual(await chain.unseen([hash(1), hash(2)]), [])
    await writeNext(chain, { atMs: 61, seen: [hash(3)] })
    while ((await chain.prune(keep)).more);
    assert.deepEqual(await chain.unseen([hash(1), hash(2), hash(3)]), [hash(1)])
    // A block with a time in the future does not make the current ones old.
    await writeNext(chain, { atMs: NOW + 1e6, seen: [hash(4)] })
    while ((await chain.prune({ ...keep, maxSeenAgeMs: NOW })).more);
    assert.deepEqual(await chain.unseen([hash(2), hash(4)]), [])
    await open.remove()
  })

  test(`${engine.name}: what was pruned is not covered again when more is to be retained`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 10, start: block(1) })
    const keep = { maxDroppedAgeMs: NOW, chainBlocks: 3, maxSeenAgeMs: NOW }
    for (const border of [500, 300]) await chain.prune({ ...keep, maxTransactionAgeMs: NOW - border })
    await chain.prune({ ...keep, maxTransactionAgeMs: null })
    assert.equal(await chain.coverageFromMs(), 500)
    assert.equal(await chain.indexedFromMs(), 500)
    await chain.prune({ ...keep, maxTransactionAgeMs: NOW - 600 })
    assert.equal(await chain.coverageFromMs(), 600)
    await open.remove()
  })

  test(`${engine.name}: with a clock far ahead of the chain, events and transactions are as old as beside its newest block`, async () => {
    const longAgo = 20 * DAY_MS
    const open = await engine.open(longAgo + 365 * DAY_MS)
    const { chain, events } = open
    const keep = {
      maxTransactionAgeMs: 7 * DAY_MS,
      maxDroppedAgeMs: DAY_MS,
      chainBlocks: 3,
      maxSeenAgeMs: NOW,
    }
    const times = [longAgo - 8 * DAY_MS, longAgo - DAY_MS, longAgo]
    await writeNext(chain, { atMs: times[0] ?? 0, start: { ...block(1), timeMs: times[0] ?? 0 } })
    for (const [at, timeMs] of times.entries()) {
      const paid = { ...payment(at + 1, 1, 1n), blockTimeMs: timeMs }
      const added = [{ ...block(at + 2, [paid]), timeMs }]
      await writeNext(chain, { atMs: timeMs, added, events: [event('a', [], timeMs)] })
    }
    while ((await chain.prune(keep)).more);
    const { rows } = await chain.addressPage({ address: address(1), limit: 10 })
    assert.deepEqual(
      rows.map(({ txId }) => Number.parseInt(txId, 16)),
      [3, 2],
    )
    assert.equal(await chain.coverageFromMs(), longAgo - 7 * DAY_MS)
    while ((await events.retain({ maxAgeMs: 7 * DAY_MS, maxBytes: 1e9 })).more);
    assert.equal((await events.bounds()).oldestSeq, 2)
    await open.remove()
  })

  test(`${engine.name}: what is written with a clock far ahead is pruned by its age meanwhile, and does not hold up the rest afterwards`, async () => {
    const newestMs = 20 * DAY_MS
    const aheadMs = newestMs + 365 * DAY_MS
    const open = await engine.open(aheadMs)
    const keep = {
      maxTransactionAgeMs: 7 * DAY_MS,
      maxDroppedAgeMs: 2 * DAY_MS,
      chainBlocks: 3,
      maxSeenAgeMs: 2 * DAY_MS,
    }
    const start = { ...block(1), timeMs: newestMs - 10 * DAY_MS }
    await writeNext(open.chain, { atMs: aheadMs - 10 * DAY_MS, start })
    const ages = [9, 8, 1, 0]
    for (const age of ages) {
      const [timeMs, atMs] = [newestMs - age * DAY_MS, aheadMs - age * DAY_MS]
      const paid = { ...payment(age + 1, 1, 1n), blockTimeMs: timeMs }
      const { blockHash: _, blockTimeMs: __, ...record } = payment(age + 101, 2, 1n)
      const added = [{ ...block(20 - age, [paid]), timeMs }]
      const from = { fromHash: hash(1), fromBlueScore: 1, fromTimeMs: timeMs }
      const gap = { atMs, ...from, toHash: hash(age), toTimeMs: timeMs, reason: 'blocks_pruned' } as const
      const rest = { entered: [record], seen: [hash(age)], events: [event('a', [], atMs)], gaps: [gap] }
      await writeNext(open.chain, { atMs, added, ...rest })
      await writeNext(open.chain, { atMs, dropped: [{ txId: record.txId, replacedBy: null }] })
    }
    const paidTo = async (chain: typeof open.chain, to: number) =>
      (await chain.addressPage({ address: address(to), limit: 10 })).rows.map(({ txId }) =>
        Number.parseInt(txId, 16),
      )
    while ((await open.chain.prune(keep)).more);
    assert.deepEqual(await paidTo(open.chain, 1), [1, 2])
    assert.deepEqual(await paidTo(open.chain, 2), [101, 102])
    assert.deepEqual(await open.chain.unseen(ages.map(hash)), [hash(9), hash(8)])
    assert.equal((await open.chain.gaps()).length, 2)
    assert.equal(await open.chain.coverageFromMs(), newestMs - 7 * DAY_MS)
    while ((await open.events.retain({ maxAgeMs: 7 * DAY_MS, maxBytes: 1e9 })).more);
    assert.equal((await open.events.bounds()).oldestSeq, 3)

    const rightMs = newestMs + 3 * DAY_MS
    const { chain } = await open.reopen(rightMs)
    for (const age of [2, 0]) {
      const timeMs = rightMs - age * DAY_MS
      const paid = { ...payment(age + 201, 1, 1n), blockTimeMs: timeMs }
      await writeNext(chain, { atMs: timeMs, added: [{ ...block(40 - age, [paid]), timeMs }] })
    }
    while ((await chain.prune({ ...keep, maxTransactionAgeMs: DAY_MS })).more);
    assert.deepEqual(await paidTo(chain, 1), [201])
    assert.deepEqual(await paidTo(chain, 2), [], 'dropped in the future')
    await open.remove()
  })

  test(`${engine.name}: a start of coverage that is in the future becomes that of the newest block`, async () => {
    const newestMs = 20 * DAY_MS
    const open = await engine.open(newestMs + 6 * DAY_MS)
    await writeNext(open.chain, { atMs: newestMs, start: { ...block(1), timeMs: newestMs } })
    const keep = { maxDroppedAgeMs: NOW, chainBlocks: 3, maxSeenAgeMs: NOW }
    await open.chain.prune({ ...keep, maxTransactionAgeMs: DAY_MS })
    assert.equal(await open.chain.coverageFromMs(), newestMs + 5 * DAY_MS)
    const { chain } = await open.reopen(newestMs + DAY_MS)
    await chain.prune({ ...keep, maxTransactionAgeMs: null })
    assert.equal(await chain.coverageFromMs(), newestMs + 1)
    await open.remove()
  })

  test(`${engine.name}: a clock that is behind changes neither the start of coverage nor what was dropped`, async () => {
    const newestMs = 20 * DAY_MS
    const open = await engine.open(newestMs)
    await writeNext(open.chain, { atMs: 0, start: { ...block(1), timeMs: newestMs - 10 * DAY_MS } })
    const { blockHash: _, blockTimeMs: __, ...record } = payment(1, 1, 1n)
    const added = [{ ...block(2), timeMs: newestMs }]
    await writeNext(open.chain, { atMs: newestMs, added, entered: [record] })
    await writeNext(open.chain, { atMs: newestMs, dropped: [{ txId: record.txId, replacedBy: null }] })
    const keep = { maxDroppedAgeMs: NOW, chainBlocks: 3, maxSeenAgeMs: NOW, maxTransactionAgeMs: DAY_MS }
    await open.chain.prune(keep)
    const { chain } = await open.reopen(newestMs - 5 * DAY_MS)
    await chain.prune(keep)
    assert.equal(await chain.coverageFromMs(), newestMs - DAY_MS)
    assert.equal((await chain.transaction(record.txId))?.status, 'dropped')
    await open.remove()
  })

  test(`${engine.name}: what has been pending for longer than transactions are retained is pruned`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 10, start: block(1) })
    for (const [n, atMs] of [
      [1, 20],
      [2, 20],
      [3, 600],
    ] as const) {
      const { blockHash: _, blockTimeMs: __, ...record } = payment(n, 1, 1n)
      await writeNext(chain, { atMs, entered: [record] })
    }
    const { blockHash: _, blockTimeMs: __, ...again } = payment(2, 1, 1n)
    await writeNext(chain, { atMs: 700, entered: [again] })
    const keep = { maxDroppedAgeMs: NOW, chainBlocks: 3, maxSeenAgeMs: NOW }
    await chain.prune({ ...keep, maxTransactionAgeMs: null })
    assert.equal((await chain.pending(10)).length, 3)
    while ((await chain.prune({ ...keep, maxTransactionAgeMs: NOW - 500 })).more);
    assert.deepEqual(await chain.pending(10), [hash(2), hash(3)], 'one was seen again')
    assert.equal(await chain.transaction(hash(1)), undefined)
    const { rows } = await chain.addressPage({ address: address(1), limit: 10 })
    assert.equal(rows.length, 2)
    await open.remove()
  })

  test(`${engine.name}: a transaction that was pending for long is pruned when its block is old`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 10, start: block(1) })
    const paid = [900, 20, 30].map((blockTimeMs, i) => ({ ...payment(i + 1, 1, 1n), blockTimeMs }))
    for (const { blockHash: _, blockTimeMs: __, ...record } of paid)
      await writeNext(chain, { atMs: 20, entered: [record] })
    await writeNext(chain, { atMs: 910, added: [block(9, paid)] })
    const prune = async (border: number) => {
      const keep = { maxDroppedAgeMs: NOW, chainBlocks: 3, maxSeenAgeMs: NOW }
      while ((await chain.prune({ ...keep, maxTransactionAgeMs: NOW - border })).more);
      const { rows } = await chain.addressPage({ address: address(1), limit: 10 })
      return rows.map(({ txId }) => Number.parseInt(txId, 16))
    }
    assert.deepEqual(await prune(900), [1], 'coverage begins at the time of its block')
    assert.equal(await chain.coverageFromMs(), 900)
    assert.deepEqual(await prune(901), [])
    await open.remove()
  })

  test(`${engine.name}: up to where all blocks were seen is kept, with the write that says so`, async () => {
    const open = await engine.open()
    const { chain } = open
    assert.equal(await chain.seenTo(), undefined)
    const seenTo = { hash: hash(10), blueScore: 10 }
    await writeNext(chain, { atMs: 1, start: block(10), seen: [hash(10)], seenTo })
    await writeNext(chain, { atMs: 2, added: [block(11)] })
    assert.deepEqual(await chain.seenTo(), seenTo)
    await assert.rejects(
      chain.write({ atMs: 3, expects: hash(99), seenTo: { hash: hash(11), blueScore: 11 } }),
    )
    const reopened = await open.reopen()
    assert.deepEqual(await reopened.chain.seenTo(), seenTo)
    await open.remove()
  })

  test(`${engine.name}: a write that expects another checkpoint is refused and leaves nothing behind`, async () => {
    const open = await engine.open()
    const { chain, events } = open
    await assert.rejects(chain.write({ atMs: 1, expects: hash(1), start: block(1) }), CheckpointMovedError)
    const { checkpoint } = await chain.write({ atMs: 1, expects: null, start: block(1) })
    assert.equal(checkpoint?.hash, hash(1))
    const next = { atMs: 2, added: [block(2)], events: [event('a')] }
    await assert.rejects(chain.write({ ...next, expects: null }), CheckpointMovedError)
    const both = [1, 2].map(() => chain.write({ ...next, expects: hash(1) }))
    const outcomes = await Promise.allSettled(both)
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    assert.equal((await readAll(events)).length, 1)
    assert.equal((await chain.checkpoint())?.hash, hash(2))
    await open.remove()
  })

  test(`${engine.name}: texts of old transactions are read like new ones, and change like new ones`, async () => {
    const open = await engine.open()
    const { chain } = open
    await writeNext(chain, { atMs: 1, start: block(1) })
    const count = 900
    const pay = (n: number, amount = BigInt(n)) => ({ ...payment(n, 1, amount), blockTimeMs: n })
    for (let n = 0; n < count; n += 100) {
      const transactions = Array.from({ length: 100 }, (_, i) => pay(1 + n + i))
      await writeNext(chain, { atMs: 2 + n, added: [block(2 + n, transactions)] })
    }
    const check = async (store: typeof chain, n: number, amount = BigInt(n)) =>
      assert.equal((await store.transaction(hash(n)))?.parsed, payment(n, 1, amount).parsed)
    for (let n = 1; n <= count; n += 7) await check(chain, n)
    await writeNext(chain, { atMs: 5_000, added: [block(5_000, [pay(3, 77n), pay(4)])] })
    const { chain: reopened } = await open.reopen()
    await check(reopened, 2)
    await check(reopened, 3, 77n)
    await check(reopened, 4)
    const found = await reopened.outputs([3, 4].map((n) => ({ txId: hash(n), index: 0 })))
    assert.deepEqual(
      found.map((output) => output?.amount),
      [77n, 4n],
    )
    const keep = { maxTransactionAgeMs: NOW - 600, maxDroppedAgeMs: NOW, chainBlocks: 10, maxSeenAgeMs: NOW }
    while ((await reopened.prune(keep)).more);
    assert.equal(await reopened.transaction(hash(3)), undefined)
    await check(reopened, count)
    await open.remove()
  })
}
