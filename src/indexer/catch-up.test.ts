import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEvents, caughtUp, settled, startChainRig } from '../../test/fakes/chain-rig.ts'
import { assertLog } from '../../test/fakes/chain-truth.ts'
import { GAP_KIND, readGapEvent } from '../events/gap-event.ts'
import { systemClock } from '../kit/clock.ts'

const isOfChain = ({ reason }: { reason: string }) => reason === 'pruned'

test('what the node no longer has becomes a recorded gap, and the index continues after it', async (t) => {
  const rig = await startChainRig({
    seed: 6,
    paced: false,
    warmUpBlocks: 150,
    keepBlocks: 200,
    coinbaseMaturity: 30,
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  assert.ok(node)
  const first = await rig.follow()
  for (let i = 0; i < 20; i++) rig.chain.chain.step()
  await caughtUp(first.database, () => node.truth.sink())
  const from = await first.database.chain.checkpoint()
  await first.stop()

  for (let i = 0; i < 500; i++) rig.chain.chain.step()
  const second = await rig.follow()
  await caughtUp(second.database, () => node.truth.sink())
  // If the chain is followed again before the blocks are, the blocks of that range are reported as missing, too.
  const [gap, ...more] = (await second.database.chain.gaps()).filter(isOfChain)
  assert.deepEqual(more, [])
  assert.equal(gap?.fromHash, from?.hash)
  assert.equal(gap?.fromTimeMs, from?.timeMs)
  assert.equal(gap?.reason, 'pruned')
  assert.ok((gap?.toTimeMs ?? 0) > (gap?.fromTimeMs ?? Number.POSITIVE_INFINITY))
  assert.equal(await second.database.chain.coverageFromMs(), gap?.toTimeMs)
  const [recorded, ...others] = (await allEvents(second.database)).filter(
    ({ kind, text }) => kind === GAP_KIND && isOfChain(readGapEvent(text)),
  )
  assert.deepEqual(others, [])
  assert.equal(readGapEvent(recorded?.text ?? '').to, new Date(gap?.toTimeMs ?? 0).toISOString())
  const kept = node.truth.chain()
  assert.equal(gap?.toHash, (await second.database.chain.chainBlockBelow(1e9))?.hash)
  for (const { transactionId } of kept.at(-3)?.accepted ?? []) {
    assert.equal((await second.database.chain.transaction(transactionId))?.status, 'confirmed')
  }
})

test('after a long absence the index catches up in steps: nothing is missing and nothing is sent twice', async (t) => {
  const rig = await startChainRig({
    seed: 7,
    paced: false,
    warmUpBlocks: 150,
    coinbaseMaturity: 30,
    reorgsPerMinute: 0,
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  assert.ok(node)
  const first = await rig.follow()
  await caughtUp(first.database, () => node.truth.sink())
  for (let i = 0; i < 30; i++) rig.chain.chain.step()
  await caughtUp(first.database, () => node.truth.sink())
  await systemClock.sleep(300)
  await first.stop()
  for (let i = 0; i < 400; i++) rig.chain.chain.step()
  await node.reorganize(12, true)
  const second = await rig.follow()
  await caughtUp(second.database, () => node.truth.sink())
  await settled(second.database)
  const events = await allEvents(second.database)
  assertLog(events, node)
  const longest = Math.max(
    ...events
      .filter((event) => event.kind === 'virtual_chain_changed')
      .map((event) => (JSON.parse(event.text) as { data: { added: string[] } }).data.added.length),
  )
  assert.ok(longest <= 50, `${longest} blocks in one step`)
})

test('blocks of an absence are recorded even if the indexer dies again before it has read them', async (t) => {
  const rig = await startChainRig({
    ...{ seed: 9, paced: false, warmUpBlocks: 150, coinbaseMaturity: 30, reorgsPerMinute: 0 },
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  assert.ok(node)
  const first = await rig.follow()
  for (let i = 0; i < 30; i++) rig.chain.chain.step()
  await caughtUp(first.database, () => node.truth.sink())
  await settled(first.database)
  await first.stop()
  for (let i = 0; i < 300; i++) rig.chain.chain.step()
  const second = await rig.follow({
    wrap: (indexer) => ({
      ...indexer,
      applyBlocks: () => Promise.reject(new Error('too early')),
      applyNotifications: () => Promise.reject(new Error('too early')),
    }),
  })
  await caughtUp(second.database, () => node.truth.sink())
  await second.stop()
  const third = await rig.follow()
  rig.chain.chain.step()
  await caughtUp(third.database, () => node.truth.sink())
  await settled(third.database)
  assertLog(await allEvents(third.database), node)
})

for (const followedFirst of [true, false]) {
  const when = followedFirst ? 'whose blocks are followed' : 'of which only the last block is followed'
  test(`a node that falls behind retracts nothing (${when})`, async (t) => {
    const rig = await startChainRig({
      seed: 9,
      paced: false,
      warmUpBlocks: 150,
      reorgsPerMinute: 0,
      parallelRate: 0,
    })
    t.after(() => rig.close())
    const [node] = rig.nodes
    assert.ok(node)
    const { database, gaps } = await rig.follow()
    if (followedFirst) await caughtUp(database, () => node.truth.sink())
    for (let i = 0; i < 60; i++) rig.chain.chain.step()
    await caughtUp(database, () => node.truth.sink())
    const reached = await database.chain.checkpoint()
    node.setFaults({ lagDaa: 40 })
    for (let i = 0; i < 20; i++) {
      rig.chain.chain.step()
      await systemClock.sleep(50)
    }
    assert.notEqual(node.truth.sink(), reached?.hash)
    assert.equal((await database.chain.checkpoint())?.hash, reached?.hash, 'the index waits')
    node.setFaults({ lagDaa: 0 })
    rig.chain.chain.step()
    await caughtUp(database, () => node.truth.sink())
    await settled(database)
    const events = await allEvents(database)
    const { retractions } = assertLog(events, node)
    assert.equal(retractions, 0)
    assert.deepEqual(gaps, [])
  })
}
