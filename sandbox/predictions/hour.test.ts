/**
 * An hour on a controlled clock: every window is listed, observed and settled with the right winner, and its trades
 * agree.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getJson, openMarkets, steerableClock } from '../../test/sandbox/client.ts'
import { type Json, openSocket } from '../../test/sandbox/open-socket.ts'
import { startTestPredictions } from '../../test/sandbox/start.ts'

const START = Date.UTC(2026, 10, 15, 9, 58)
const END = START + 64 * 60_000

test('a client that follows the windows for an hour sees each market from open to winner', async () => {
  const clock = steerableClock(START)
  const sandbox = await startTestPredictions({ seed: 31, clock, slotMs: 1_000, budgetScale: 100 })
  try {
    const client = await openSocket(sandbox.polymarket.wsUrl)
    client.send({ type: 'market', assets_ids: [], custom_feature_enabled: true })
    const subscribed = new Set<string>()
    while (clock.now() < END) {
      for (const symbol of ['btc', 'xrp']) {
        const markets = await openMarkets(sandbox, `${symbol}-up-or-down-5m`, 3)
        const tokens = markets.flatMap((market) => market.tokens).filter((token) => !subscribed.has(token))
        if (tokens.length === 0) continue
        for (const token of tokens) subscribed.add(token)
        client.send({ operation: 'subscribe', assets_ids: tokens, custom_feature_enabled: true })
      }
      await clock.run(60_000, 20_000)
    }
    const truth = sandbox.truth
      .markets('polymarket', START + 7 * 60_000, END - 6 * 60_000)
      .filter((market) => market.kind === '5m' && (market.symbol === 'BTC' || market.symbol === 'XRP'))
    assert.ok(truth.length >= 20, `${truth.length} windows`)
    const frames = client.frames()
    for (const market of truth) {
      const [row] = await getJson<Json[]>(
        `${sandbox.polymarket.gammaUrl}/markets?slug=${market.name}&closed=true`,
      )
      assert.equal(row?.outcomePrices, market.winner === 'Up' ? '["1", "0"]' : '["0", "1"]', market.name)
      const resolved = frames.find(
        (frame) => frame.event_type === 'market_resolved' && frame.market === market.conditionId,
      )
      assert.equal(resolved?.winning_outcome, market.winner, market.name)
      const streamed = frames
        .filter((frame) => frame.event_type === 'last_trade_price' && frame.market === market.conditionId)
        .map((frame) => frame.transaction_hash)
      const inWindow = sandbox.truth.trades(market.name, market.startMs, market.endMs) ?? []
      assert.ok(inWindow.length > 0)
      for (const { id, timeMs } of inWindow) assert.ok(streamed.includes(id), `${market.name} ${timeMs}`)
      assert.equal(new Set(streamed).size, streamed.length)
    }
    client.close()
  } finally {
    await sandbox.close()
  }
})
