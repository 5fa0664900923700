import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { promisedMs } from '../../../test/promised-ms.ts'
import { endAll, scriptedVenue } from '../../../test/venues/scripted-venue.ts'
import { BTC, ETH, frameOf, listen, QUICK, toyProtocol } from '../../../test/venues/toy-feed.ts'
import { systemClock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { Observation } from '../observation.ts'

afterEach(endAll)

/** Gives up a venue whose handshake takes longer. */
const IMPATIENT = { ...QUICK, socket: { ...QUICK.socket, openWithinMs: 300 } }

test('a dropped socket is reported with its reason, and the feed comes back by itself', async () => {
  const venue = await scriptedVenue({
    onOpen(visit, index) {
      visit.socket.send(frameOf(index))
      if (index < 2) visit.socket.close(1001, 'maintenance')
    },
  })
  const feed = listen(venue.url)
  await feed.until(() => feed.ids().length === 3)
  assert.deepEqual(feed.ids(), [0, 1, 2])
  const round = ['connected', 'subscribed', 'disconnected']
  assert.deepEqual(feed.kinds(), [...round, ...round, 'connected', 'subscribed'])
  const lost = feed.seen.find((each) => each.kind === 'disconnected')
  assert.equal(lost?.reason, 'closed with 1001: maintenance')
  assert.ok(lost.sinceMs <= lost.receivedMs)
  await feed.close()
  await venue.close()
})

test('open sockets are counted, whatever happens to them', async () => {
  const venue = await scriptedVenue({
    onOpen(visit, index) {
      visit.socket.send(frameOf(index))
      if (index % 2 === 0) visit.socket.terminate()
    },
  })
  const feed = listen(venue.url, { limits: IMPATIENT })
  await feed.until(() => feed.ids().length >= 2)
  assert.equal(feed.session.stats().routes, 1)
  await feed.until(() => feed.session.stats().sockets === 1)
  venue.hangHandshakes(true)
  for (const visit of venue.open()) visit.socket.terminate()
  await systemClock.sleep(600)
  assert.ok(feed.session.stats().sockets <= 2, 'dialled in vain, and left')
  await feed.close()
  await feed.until(() => feed.session.stats().sockets === 0)
  await venue.close()
})

test('a venue that accepts the connection and never answers is left and tried again', async () => {
  const venue = await scriptedVenue({ onOpen: (visit) => visit.socket.send(frameOf(1)) })
  venue.hangHandshakes(true)
  const feed = listen(venue.url, { limits: IMPATIENT })
  await systemClock.sleep(500)
  assert.deepEqual(feed.kinds(), [], 'what was never connected is not disconnected')
  venue.hangHandshakes(false)
  await feed.until(() => feed.ids().length === 1)
  await feed.close()
  await venue.close()
})

test('a socket that stays open and sends nothing is cut and replaced', async () => {
  const venue = await scriptedVenue({
    onOpen: (visit, index) => index === 1 && visit.socket.send(frameOf(7)),
  })
  const limits = { ...QUICK, dataSilenceFloorMs: 150 }
  const feed = listen(venue.url, { limits, silenceOf: () => 100 })
  await feed.until(() => feed.ids().length === 1)
  const lost = feed.seen.find((each) => each.kind === 'disconnected')
  assert.equal(lost?.reason, 'no data')
  await feed.close()
  await venue.close()
})

test('one silent channel among active ones is reported once, within two of its intervals', async () => {
  const SILENCE_MS = 2_000
  const venue = await scriptedVenue()
  const feed = listen(venue.url, { channels: [BTC, ETH], silenceOf: () => SILENCE_MS })
  await feed.until(() => venue.open().length === 1)
  let id = 0
  let isEthMuted = false
  const talk = setInterval(() => {
    id += 1
    venue.broadcast(frameOf(id, 'BTC'))
    if (!isEthMuted) venue.broadcast(frameOf(id, 'ETH'))
  }, 20)
  await systemClock.sleep(1.5 * SILENCE_MS)
  assert.ok(!feed.kinds().includes('stale'), 'active channels are not stale')
  isEthMuted = true
  const mutedMs = Date.now()
  await feed.until(() => feed.kinds().includes('stale'))
  assert.ok(Date.now() - mutedMs < promisedMs(2 * SILENCE_MS))
  await systemClock.sleep(1.5 * SILENCE_MS)
  const stale = feed.seen.filter((each) => each.kind === 'stale')
  assert.equal(stale.length, 1)
  assert.deepEqual(stale[0]?.channel, ETH)
  const heard = feed.seen.filter((each) => each.kind === 'trade' && each.symbol === 'ETH')
  const sinceMs = stale[0]?.lastReceivedMs ?? 0
  assert.ok(sinceMs >= (heard.at(-1)?.receivedMs ?? Infinity), 'since its last word')
  assert.ok((stale[0]?.receivedMs ?? 0) - sinceMs >= SILENCE_MS)
  isEthMuted = false
  await feed.until(() => feed.ids('ETH').at(-1) === id)
  isEthMuted = true
  await feed.until(() => feed.seen.filter((each) => each.kind === 'stale').length === 2)
  clearInterval(talk)
  await feed.close()
  await venue.close()
})

test('an unreadable frame is counted, kept and reported, and the next one is read as usual', async () => {
  const venue = await scriptedVenue({
    onOpen(visit) {
      for (const text of [frameOf(1), '{"id":2,', '{"strange":true}', frameOf(3)]) visit.socket.send(text)
      visit.socket.send(Buffer.from(frameOf(4)), { binary: true })
      visit.socket.send(`{"id":4,"symbol":"BTC","many":[${'{},'.repeat(60_000)}{}]}`)
      visit.socket.send(frameOf(5))
    },
  })
  const feed = listen(venue.url)
  await feed.until(() => feed.ids().includes(5))
  assert.deepEqual(feed.ids(), [1, 3, 5])
  assert.deepEqual(feed.deadLetters.counts(), { malformed: 3, unknown_kind: 1 })
  assert.equal(feed.deadLetters.recent()[0]?.text, '{"id":2,')
  assert.equal(feed.kinds().filter((kind) => kind === 'damaged').length, 3)
  assert.equal(feed.session.stats().malformed, 3)
  await feed.close()
  await venue.close()
})

test("sockets are renewed before the venue's cut, new before old, and no message is lost or doubled", async () => {
  const CUT_MS = 3_000
  const venue = await scriptedVenue({ onOpen: (visit) => setTimeout(() => visit.socket.close(1001), CUT_MS) })
  const feed = listen(venue.url, { renewAfterMs: 1_000 })
  await feed.until(() => venue.open().length > 0)
  let id = 0
  const talk = setInterval(() => venue.broadcast(frameOf(++id)), 3)
  await feed.until(() => feed.session.stats().renewals >= 3)
  // Between two renewals.
  await systemClock.sleep(500)
  clearInterval(talk)
  await feed.until(() => feed.ids().at(-1) === id)
  const { disconnects, repeats } = feed.session.stats()
  assert.equal(disconnects, 0)
  assert.ok(repeats > 0, 'both sockets were read for a while')
  assert.deepEqual(
    feed.ids(),
    Array.from({ length: id }, (_, index) => index + 1),
  )
  for (const [index, visit] of venue.visits.entries()) {
    const next = venue.visits[index + 1]
    if (next === undefined) continue
    assert.ok((visit.closedMs ?? Infinity) > next.openedMs, 'the new one was open before the old one closed')
    assert.ok((visit.closedMs ?? Infinity) < visit.openedMs + CUT_MS, 'the venue never had to cut')
  }
  await feed.close()
  await venue.close()
})

test('a socket whose end the venue announces is replaced at once', async () => {
  const venue = await scriptedVenue({
    onOpen(visit, index) {
      visit.socket.send(frameOf(index))
      if (index === 0) visit.socket.send('{"bye":1}')
    },
  })
  const feed = listen(venue.url)
  await feed.until(() => feed.kinds().includes('renewed'))
  assert.equal(feed.seen.find((each) => each.kind === 'renewed')?.reason, 'announced by the venue')
  assert.ok(!feed.kinds().includes('disconnected'))
  await feed.until(() => venue.open().length === 1)
  await feed.close()
  await venue.close()
})

test('a confirmed silence replaces the socket of that channel only, without a gap for the others', async () => {
  const venue = await scriptedVenue({ onOpen: (visit, index) => visit.socket.send(frameOf(index)) })
  const feed = listen(venue.url, {
    channels: [BTC, ETH],
    routes: [
      { name: 'a', url: `${venue.url}/a`, channels: [BTC], greeting: [] },
      { name: 'b', url: `${venue.url}/b`, channels: [ETH], greeting: [] },
    ],
  })
  await feed.until(() => feed.session.stats().connects === 2)
  feed.session.reconnect(ETH, 'silence confirmed')
  await feed.until(() => feed.kinds().includes('renewed'))
  assert.deepEqual(venue.visits.map((visit) => visit.path).sort(), ['/a', '/b', '/b'])
  await feed.close()
  await venue.close()
})

test('a channel that is still silent on the new socket is reported again', async () => {
  let sent = 0
  const venue = await scriptedVenue({
    onOpen({ socket }) {
      const timer = setInterval(() => socket.send(frameOf(sent++)), 20)
      socket.on('close', () => clearInterval(timer))
    },
  })
  const feed = listen(venue.url, {
    channels: [BTC, ETH],
    silenceOf: (channel) => (channel === ETH ? 150 : null),
  })
  const stale = () => feed.kinds().filter((kind) => kind === 'stale').length
  await feed.until(() => stale() === 1)
  feed.session.reconnect(ETH, 'silence confirmed')
  await feed.until(() => stale() === 2)
  assert.deepEqual(
    feed.kinds().filter((kind) => kind === 'stale' || kind === 'renewed'),
    ['stale', 'renewed', 'stale'],
  )
  await feed.close()
  await venue.close()
})

test('a socket that sends nothing beside its successor was dead: a loss for all of its channels', async () => {
  const venue = await scriptedVenue({ onOpen: ({ socket }, index) => socket.send(frameOf(index)) })
  const feed = listen(venue.url, {
    channels: [BTC, ETH],
    silenceOf: (channel) => (channel === ETH ? 150 : 60_000),
  })
  await feed.until(() => feed.kinds().includes('stale'))
  const lastMs = feed.seen.find((each) => each.kind === 'trade')?.receivedMs ?? 0
  feed.session.reconnect(ETH, 'silence confirmed')
  await feed.until(() => feed.kinds().filter((kind) => kind === 'connected').length === 2)
  const lost = feed.seen.find((each) => each.kind === 'disconnected')
  const staleMs = feed.seen.find((each) => each.kind === 'stale')?.receivedMs ?? 0
  assert.ok(lost !== undefined && lost.sinceMs >= lastMs && lost.sinceMs < staleMs, JSON.stringify(lost))
  assert.equal(lost.channels.length, 2)
  assert.ok(!feed.kinds().includes('renewed'))
  await feed.close()
  await venue.close()
})

test('renewals for a quick channel do not hide the silence of a slow one on the same socket', async () => {
  const venue = await scriptedVenue()
  const SLOW_MS = 900
  const feed = listen(venue.url, {
    channels: [BTC, ETH],
    silenceOf: (channel) => (channel.symbol === 'ETH' ? 100 : SLOW_MS),
  })
  await feed.until(() => venue.visits.length === 1)
  const startedMs = Date.now()
  const isSlow = (each: Observation) => each.kind === 'stale' && each.channel.symbol === 'BTC'
  let renewed = 0
  await feed.until(() => {
    const silent = feed.seen.filter((each) => each.kind === 'stale' && each.channel.symbol === 'ETH').length
    if (silent > renewed) {
      renewed = silent
      feed.session.reconnect(ETH, 'silent')
    }
    return feed.seen.some(isSlow)
  })
  assert.ok(renewed >= 2, `${renewed} renewals`)
  assert.ok(Date.now() - startedMs <= promisedMs(2 * SLOW_MS), `${Date.now() - startedMs} ms`)
})

test('a socket on which a channel stays silent is replaced after growing pauses, however often that is asked for', async () => {
  const venue = await scriptedVenue()
  const replaceSilent = { baseMs: 300, capMs: 14_400 }
  const feed = listen(venue.url, {
    // No socket sends anything, so every handover takes its whole time; one that failed would be tried again at once.
    limits: { ...QUICK, connection: { ...QUICK.connection, handoverMs: 200, overlapMs: 1 }, replaceSilent },
  })
  await feed.until(() => venue.visits.length === 1)
  const asking = setInterval(() => feed.session.reconnect(BTC, 'silent'), 2)
  await systemClock.sleep(5_000)
  clearInterval(asking)
  const opened = venue.visits.map(({ openedMs }) => openedMs)
  // Sockets open at 0, 300, 900, 2,100 and 4,500 ms; the next pause is 4,800 ms.
  assert.ok(opened.length >= 4 && opened.length <= 7, `${opened.length} sockets`)
  const pauses = opened.slice(2).map((atMs, index) => atMs - (opened[index + 1] ?? 0))
  assert.ok((pauses.at(-1) ?? 0) >= 2 * (pauses[0] ?? 0), pauses.join(' '))
  // Only data of the channel makes the next replacement prompt.
  venue.broadcast(frameOf(1))
  await feed.until(() => feed.ids().length === 1)
  feed.session.reconnect(BTC, 'silent')
  const before = opened.length
  // Long before the next pause would end.
  await feed.until(() => venue.visits.length > before, 2_500)
  await feed.close()
  await venue.close()
})

test('a venue whose sockets open and send nothing is dialled with growing pauses', async () => {
  const venue = await scriptedVenue()
  const limits = {
    ...QUICK,
    connection: { ...QUICK.connection, steadyAfterMs: 20, backoff: { baseMs: 30, capMs: 3_000 } },
    dataSilenceFloorMs: 40,
  }
  const feed = listen(venue.url, { limits, silenceOf: () => 20, random: () => 0.999 })
  await systemClock.sleep(1_800)
  assert.ok(venue.visits.length <= 7, `${venue.visits.length} sockets in 1.8 s`)
  await feed.close()
  await venue.close()
})

test('while no successor can be had, the old socket keeps serving', async () => {
  const venue = await scriptedVenue({ onOpen: (visit) => visit.socket.send(frameOf(1)) })
  const feed = listen(venue.url)
  await feed.until(() => feed.ids().length === 1)
  venue.refuse(true)
  feed.session.reconnect(BTC, 'try')
  await systemClock.sleep(300)
  venue.broadcast(frameOf(2))
  await feed.until(() => feed.ids().length === 2)
  assert.deepEqual(feed.kinds(), ['connected', 'subscribed'])
  venue.refuse(false)
  await feed.until(() => feed.kinds().includes('renewed'))
  await feed.close()
  await venue.close()
})

test('a successor that is still dialling takes over when the old socket dies', async () => {
  const venue = await scriptedVenue({ onOpen: (visit, index) => visit.socket.send(frameOf(index)) })
  const feed = listen(venue.url, { limits: { ...QUICK, socket: { ...QUICK.socket, openWithinMs: 2_000 } } })
  await feed.until(() => feed.ids().length === 1)
  venue.hangHandshakes(true)
  feed.session.reconnect(BTC, 'try')
  await systemClock.sleep(50)
  venue.visits[0]?.socket.terminate()
  await feed.until(() => feed.kinds().includes('disconnected'))
  venue.hangHandshakes(false)
  await feed.until(() => feed.ids().length === 2)
  assert.deepEqual(feed.kinds(), ['connected', 'subscribed', 'disconnected', 'connected', 'subscribed'])
  await feed.close()
  await venue.close()
})

test('a heartbeat that is not answered ends the socket; an answered one keeps it', async () => {
  let answers = true
  const venue = await scriptedVenue({
    onMessage: (visit, text) => answers && text === 'ping' && visit.socket.send('{"pong":1}'),
  })
  const heartbeat = { everyMs: 60, frame: 'ping', answerWithinMs: 2_000 }
  const feed = listen(venue.url, { protocol: { ...toyProtocol, heartbeat } })
  // Longer than an answer may take.
  await systemClock.sleep(2_500)
  await feed.until(() => (venue.visits[0]?.received.length ?? 0) >= 4)
  assert.deepEqual(feed.kinds(), ['connected', 'subscribed'])
  answers = false
  await feed.until(() => feed.kinds().includes('disconnected'))
  assert.equal(feed.seen.find((each) => each.kind === 'disconnected')?.reason, 'no pong')
  await feed.close()
  await venue.close()
})

test('a successor that was accepted while the old socket served is subscribed when it takes over', async () => {
  const accepting = {
    ...toyProtocol,
    accepts: true,
    read: (text: string, receivedMs: number) =>
      text === 'accepted'
        ? ({ kind: 'accepted', channels: ['trades:BTC'] } as const)
        : toyProtocol.read(text, receivedMs),
  }
  const venue = await scriptedVenue({
    onOpen(visit, index) {
      visit.socket.send('accepted')
      if (index === 0) visit.socket.send(frameOf(1))
    },
  })
  const feed = listen(venue.url, { protocol: accepting })
  await feed.until(() => feed.ids().length === 1)
  feed.session.reconnect(BTC, 'silent')
  await feed.until(() => venue.open().length === 2)
  await feed.until(() => feed.kinds().filter((kind) => kind === 'subscribed').length === 2)
  venue.open()[0]?.socket.terminate()
  await feed.until(() => feed.kinds().includes('disconnected'))
  await feed.until(() => feed.kinds().at(-1) === 'subscribed')
  assert.deepEqual(feed.kinds().slice(-3), ['disconnected', 'connected', 'subscribed'])
  await feed.close()
  await venue.close()
})

test('a channel that has to be asked is up with its first answer, not before, and after each silence again', async () => {
  const venue = await scriptedVenue()
  let isAnswering = false
  const channel: Channel = { topic: 'funding', symbol: 'BTC' }
  const ask = async () => {
    if (!isAnswering) throw new Error('no answer')
    return []
  }
  const feed = listen(venue.url, { routes: [], polls: [{ channel, everyMs: 10, request: ask }] })
  await feed.until(() => feed.session.stats().pollFailures > 2)
  assert.deepEqual(feed.kinds(), [], 'a question that fails observes nothing')
  isAnswering = true
  await feed.until(() => feed.kinds().length >= 3)
  assert.deepEqual(feed.kinds().slice(0, 3), ['subscribed', 'answered', 'answered'])
  await feed.close()
  await venue.close()
})

test('a channel that is left out of the next socket is lost with the one before, whether that ended or was replaced', async () => {
  const venue = await scriptedVenue({ onOpen: (visit, index) => visit.socket.send(frameOf(index)) })
  for (const isReplaced of [false, true]) {
    let channels = [BTC, ETH]
    const route = {
      ...{ name: 'toy', url: venue.url, greeting: [] },
      get channels() {
        return channels
      },
    }
    const feed = listen(venue.url, { routes: [route] })
    await feed.until(() => feed.ids().length === 1)
    channels = [BTC]
    if (isReplaced) feed.session.reconnect(BTC, 'silent')
    else for (const visit of venue.open()) visit.socket.terminate()
    await feed.until(() => feed.ids().length === 2 && feed.kinds().includes('disconnected'))
    const lost = feed.seen.flatMap((each) => (each.kind === 'disconnected' ? each.channels : []))
    assert.deepEqual(lost, isReplaced ? [ETH] : [BTC, ETH])
    await feed.close()
  }
  await venue.close()
})
