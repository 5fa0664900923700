import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { until } from '../../../test/until.ts'
import { restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAfterTest, endAll, scriptedVenue, type Visit } from '../../../test/venues/scripted-venue.ts'
import { systemClock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { Observation } from '../observation.ts'
import { createListedCoins } from './listed-coins.ts'
import { createHyperliquid } from './venue.ts'

afterEach(endAll)

test('a delisted coin, whose subscription closes the socket, does not end the recording of the others', async () => {
  const rest = await restStandIn(() => ({ universe: [{ name: 'BTC' }, { name: 'XRP', isDelisted: true }] }))
  const asksFor = (visit: Visit, coin: string) => visit.received.some((text) => text.includes(`"${coin}"`))
  const venue = await scriptedVenue({
    onMessage(visit, text) {
      const { subscription } = JSON.parse(text)
      if (subscription.coin === 'XRP') visit.socket.terminate()
      const data = { method: 'subscribe', subscription }
      visit.socket.send(JSON.stringify({ channel: 'subscriptionResponse', data }))
    },
  })
  const hosts = { rest: rest.url, stream: venue.url }
  const hyperliquid = createHyperliquid({ clock: systemClock, hosts })
  const channels: Channel[] = (['XRP', 'BTC'] as const).map((symbol) => ({ topic: 'trades', symbol }))
  const session = hyperliquid.live(channels, { signal: AbortSignal.timeout(60_000) })
  endAfterTest(() => session.close())
  const seen: Observation[] = []
  void (async () => {
    for await (const observation of session) seen.push(observation)
  })()
  await until('a socket without the coin', () =>
    venue.visits.some((visit) => asksFor(visit, 'BTC') && !asksFor(visit, 'XRP')),
  )
  const subscribed = () => seen.flatMap((each) => (each.kind === 'subscribed' ? [each.channel.symbol] : []))
  await until('the other coin', () => subscribed().length > 0)
  assert.deepEqual(subscribed(), ['BTC'], 'what is not subscribed stays a gap')
  assert.deepEqual(
    hyperliquid.notices?.map(({ line }) => line),
    ['hyperliquid does not list XRP any more; it is not recorded until it is listed again.'],
  )
})

test('a coin that is delisted while its socket is open is left out of the one that replaces it', async () => {
  let isListed = true
  let tid = 0
  const rest = await restStandIn(() => ({
    universe: [{ name: 'BTC' }, { name: 'XRP', isDelisted: !isListed }],
  }))
  const venue = await scriptedVenue({
    onMessage(visit, text) {
      const { subscription } = JSON.parse(text)
      if (subscription.coin === 'XRP' && !isListed) visit.socket.terminate()
      const data = { method: 'subscribe', subscription }
      visit.socket.send(JSON.stringify({ channel: 'subscriptionResponse', data }))
      const trade = { coin: subscription.coin, side: 'A', px: '1', sz: '1', time: Date.now(), tid: ++tid }
      venue.broadcast(JSON.stringify({ channel: 'trades', data: [trade] }))
    },
  })
  const hosts = { rest: rest.url, stream: venue.url }
  const hyperliquid = createHyperliquid({ clock: systemClock, hosts })
  const channels: Channel[] = (['BTC', 'XRP'] as const).map((symbol) => ({ topic: 'trades', symbol }))
  const session = hyperliquid.live(channels, { signal: AbortSignal.timeout(60_000) })
  endAfterTest(() => session.close())
  const seen: Observation[] = []
  void (async () => {
    for await (const observation of session) seen.push(observation)
  })()
  await until('both coins', () => seen.filter((each) => each.kind === 'trade').length === 2)
  isListed = false
  session.reconnect({ topic: 'trades', symbol: 'XRP' }, 'silent')
  await until('another socket', () => seen.some((each) => each.kind === 'renewed'), 25_000)
  const lost = seen.flatMap((each) => (each.kind === 'disconnected' ? each.channels : []))
  assert.deepEqual(lost, [{ topic: 'trades', symbol: 'XRP' }])
  assert.equal(hyperliquid.notices?.length, 1)
})

/** The tasks of BTC and XRP beside a list that the test changes. */
function openTasks() {
  const clock = manualClock(1_000_000)
  const stop = new AbortController()
  endAfterTest(async () => stop.abort())
  const world = { listed: ['BTC', 'XRP'], asked: 0, again: [] as string[] }
  const coins = createListedCoins({
    coins: ['BTC', 'XRP'],
    clock,
    async ask() {
      world.asked += 1
      return new Set(world.listed)
    },
  })
  const tasks = coins.tasks((again) => void world.again.push(...again))
  void tasks.run({ signal: stop.signal } as SessionIo).catch(() => {})
  const pass = async (ms: number) => {
    clock.advance(ms)
    for (let step = 0; step < 5; step++) await turn()
  }
  const close = async (afterMs: number) => {
    tasks.connected?.('main')
    clock.advance(afterMs)
    tasks.disconnected?.('main', clock.now())
    await pass(0)
  }
  return { world, coins, pass, close }
}

test('the list is requested when a socket closed soon, at most once a minute', async () => {
  const { world, pass, close } = openTasks()
  await pass(600_000)
  await close(600_000)
  assert.equal(world.asked, 0, 'a socket that was open for long did not close because of a coin')
  for (let times = 0; times < 10; times++) await close(100)
  assert.equal(world.asked, 1)
  await pass(60_000)
  assert.equal(world.asked, 2)
})

test('a coin that is listed again is subscribed again', async () => {
  const { world, coins, pass, close } = openTasks()
  world.listed = ['BTC']
  await close(100)
  assert.deepEqual([...coins.unlisted], ['XRP'])
  await pass(60_000)
  assert.deepEqual(world.again, [])
  world.listed = ['BTC', 'XRP']
  await pass(60_000)
  assert.deepEqual([[...coins.unlisted], world.again], [[], ['XRP']])
})

test('a list with none of the coins is not believed', async () => {
  const { world, coins, close } = openTasks()
  world.listed = ['DOGE']
  await close(100)
  assert.deepEqual([world.asked, [...coins.unlisted]], [1, []])
})
