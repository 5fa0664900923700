import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { walkAll } from '../../../test/venues/walk.ts'
import { createHyperliquid } from './venue.ts'

afterEach(endAll)

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOW = Date.parse('2026-03-14T12:00:20Z')
const OLDEST_CANDLE = Math.floor(NOW / MINUTE) * MINUTE - 4_999 * MINUTE
/** Minutes without a trade, which the venue leaves out at first. */
const isQuiet = (open: number) =>
  open === Date.parse('2026-03-14T11:58:00Z') || open === Date.parse('2026-03-14T11:59:00Z')

interface Body {
  readonly type: string
  readonly coin?: string
  readonly startTime?: number
  readonly endTime?: number
  readonly req?: { coin: string; interval: string; startTime: number; endTime: number }
}

function answer(body: Body): unknown {
  switch (body.type) {
    case 'exchangeStatus':
      return { specialStatuses: null, time: NOW }
    case 'meta':
      return {
        universe: ['BTC', 'ETH', 'SOL']
          .map((name) => ({ name, szDecimals: 5 }))
          .concat({ name: 'XRP', szDecimals: 0, ...{ isDelisted: true } }),
      }
    case 'candleSnapshot': {
      const { coin, interval, startTime, endTime } = body.req ?? {
        coin: '',
        interval: '',
        startTime: 0,
        endTime: 0,
      }
      const rows = []
      const from = Math.max(Math.floor(startTime / MINUTE) * MINUTE, OLDEST_CANDLE)
      for (let t = from; t <= Math.min(endTime, NOW); t += MINUTE) {
        if (!isQuiet(t))
          rows.push({
            t,
            T: t + MINUTE - 1,
            s: coin,
            i: interval,
            o: '1',
            h: '2',
            l: '1',
            c: '2',
            v: '3',
            n: 4,
          })
      }
      return rows
    }
    case 'fundingHistory': {
      const rows = []
      const from = Math.ceil(((body.startTime ?? 0) - 40) / HOUR) * HOUR
      for (let at = from; at + 40 <= (body.endTime ?? NOW) && rows.length < 500; at += HOUR) {
        rows.push({ coin: body.coin, fundingRate: '0.0000125', premium: '-0.0001', time: at + 40 })
      }
      return rows
    }
    case 'l2Book':
      return {
        coin: body.coin,
        time: NOW - 300,
        levels: [[{ px: '10', sz: '1', n: 2 }], [{ px: '11', sz: '1', n: 1 }]],
      }
    case 'recentTrades':
      return [NOW - 100, NOW - 900].map((time) => ({
        coin: body.coin,
        side: 'A',
        px: '1',
        sz: '1',
        time,
        hash: '0x',
        tid: time,
      }))
    default:
      return null
  }
}

async function hyperliquid() {
  const rest = await restStandIn(({ body }) => answer(JSON.parse(body)))
  return { rest, venue: createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } }) }
}

test('candles: the newest five thousand; older ones are missing with their reason', async () => {
  const { venue } = await hyperliquid()
  const range = { fromMs: OLDEST_CANDLE - HOUR, toMs: Date.parse('2026-03-14T11:50:00Z') }
  const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  const firstMs = OLDEST_CANDLE + MINUTE
  assert.deepEqual(walked.missing, [{ fromMs: range.fromMs, toMs: firstMs }])
  assert.equal(walked.observations.length, (range.toMs - firstMs) / MINUTE)
  assert.equal(walked.settledMs, range.toMs)
})

test('candles: minutes that may still be published are not settled', async () => {
  const { venue } = await hyperliquid()
  const range = { fromMs: Date.parse('2026-03-14T11:50:00Z'), toMs: NOW }
  const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  assert.equal(walked.settledMs, Date.parse('2026-03-14T11:58:00Z'))
  assert.ok(walked.observations.every((candle) => candle.kind === 'candle' && candle.closed))
})

const CANDLE = { s: 'BTC', i: '1m', o: '1', c: '1', h: '1', l: '1', v: '1', n: 1 }

test('candles: one that is missing before later ones may still come for three minutes after its end', async () => {
  const endMs = Math.floor(NOW / MINUTE) * MINUTE
  const settledOf = async (quietMs: number) => {
    const rest = await restStandIn(({ body }) => {
      const { req }: Body = JSON.parse(body)
      if (req === undefined) return { time: NOW }
      const opens = Array.from({ length: 200 }, (_, index) => endMs - index * MINUTE).reverse()
      return opens
        .filter((t) => t >= req.startTime && t <= req.endTime && t !== quietMs)
        .map((t) => ({ ...CANDLE, t, T: t + MINUTE - 1 }))
    })
    const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const range = { fromMs: endMs - 20 * MINUTE, toMs: endMs - MINUTE }
    const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
    assert.ok(walked.observations.every(({ venueTimeMs }) => venueTimeMs < (walked.settledMs ?? 0)))
    return (walked.settledMs ?? 0) - endMs
  }
  assert.equal(await settledOf(endMs - 3 * MINUTE), -3 * MINUTE)
  assert.equal(await settledOf(endMs - 4 * MINUTE), -MINUTE, 'it has ended three minutes ago')
})

test('candles: one off the grid is refused alone, and its time is not provided if the venue sends it again', async () => {
  const range = { fromMs: Date.parse('2026-03-14T11:00:00Z'), toMs: Date.parse('2026-03-14T11:50:00Z') }
  const walk = async (opens: readonly number[], isRepeated: boolean, isKept = false) => {
    let answers = 0
    const rest = await restStandIn(({ body }) => {
      const rows = answer(JSON.parse(body))
      if (!Array.isArray(rows)) return rows
      if (answers++ > 0 && !isRepeated) return rows
      return rows.flatMap((row) => {
        const lateMs = opens.find((openMs) => Math.floor(openMs / MINUTE) * MINUTE === row.t)
        const late = lateMs === undefined ? [] : [{ ...row, t: lateMs, T: lateMs + MINUTE - 1 }]
        return late.length === 0 || isKept ? [row, ...late] : late
      })
    })
    const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
    const letters = venue.deadLetters.recent().map(({ reason }) => reason)
    return { ...walked, times: walked.observations.map(({ venueTimeMs }) => venueTimeMs), letters }
  }
  const lostMs = range.fromMs + 20 * MINUTE
  const slot = { fromMs: lostMs, toMs: lostMs + MINUTE }
  const { times, missing, settledMs, letters } = await walk([lostMs + 14_000], true)
  assert.deepEqual([times.length, times.includes(lostMs), settledMs], [49, false, range.toMs])
  assert.deepEqual([missing, letters], [[slot], ['off_grid']])
  const beside = await walk([lostMs + 14_000], true, true)
  assert.deepEqual([beside.times.length, beside.missing, beside.letters], [50, [], ['off_grid']])
  const many = Array.from({ length: 12 }, (_, index) => range.fromMs + 3 * index * MINUTE + 14_000)
  const twelve = await walk(many, true)
  assert.deepEqual([twelve.times.length, twelve.missing.length, twelve.settledMs], [38, 12, range.toMs])
  await assert.rejects(walk([lostMs + 14_000], false), /was left out before/)
  const all = Array.from({ length: 50 }, (_, index) => range.fromMs + index * MINUTE + 14_000)
  await assert.rejects(walk(all, true), /a candle from/)
})

test('candles: a range that ends inside a candle is read to its end', async () => {
  const { venue } = await hyperliquid()
  const range = { fromMs: Date.parse('2026-03-14T11:50:00Z'), toMs: Date.parse('2026-03-14T11:55:30Z') }
  const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  assert.deepEqual([walked.observations.length, walked.settledMs], [6, range.toMs])
})

test('candles: one without a later candle in the same answer may have been forming in it, and is not read', async () => {
  const closeMs = Math.floor(NOW / MINUTE) * MINUTE
  const candle = (t: number) => ({
    ...{ t, T: t + MINUTE - 1, s: 'BTC', i: '1m', o: '1', c: '1', h: '1', l: '1', v: '1', n: 1 },
  })
  for (const [opens, settledMs] of [
    [[closeMs - 2 * MINUTE, closeMs - MINUTE], closeMs - MINUTE],
    [[closeMs - 2 * MINUTE, closeMs - MINUTE, closeMs], closeMs],
  ] as const) {
    const rest = await restStandIn(({ body }) =>
      body.includes('exchangeStatus') ? { time: NOW } : opens.map(candle),
    )
    const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const range = { fromMs: closeMs - 2 * MINUTE, toMs: closeMs }
    const walked = await walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
    assert.equal(walked.settledMs, settledMs)
    assert.equal(walked.observations.length, opens.length - 1)
  }
})

test('candles: answers for another time leave nothing out; a quiet time is read', async () => {
  const walk = async (offsetMs: number, from: string, to: string, nowMs = NOW) => {
    const rest = await restStandIn(({ body }) => {
      const asked: Body = JSON.parse(body)
      if (asked.req === undefined) return { time: nowMs }
      const { startTime, endTime } = asked.req
      const req = { ...asked.req, startTime: startTime + offsetMs, endTime: endTime + offsetMs }
      return answer({ ...asked, req })
    })
    const venue = createHyperliquid({ clock: manualClock(nowMs), hosts: { rest: rest.url } })
    const range = { fromMs: Date.parse(`2026-03-14T${from}Z`), toMs: Date.parse(`2026-03-14T${to}Z`) }
    return walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
  }
  for (const minutes of [1, 2, 20, 60, 600])
    for (const to of ['11:57', '11:58', '12:00'])
      await assert.rejects(walk(minutes * MINUTE, '11:55', to), /does not fit/, `${minutes} ${to}`)
  const { observations, settledMs } = await walk(0, '11:58', '12:00', NOW + 4 * MINUTE)
  assert.deepEqual([observations.length, settledMs], [0, Date.parse('2026-03-14T12:00Z')])
})

test('candles: answers that end after half of their candles settle nothing that they lack', async () => {
  const toMs = Date.parse('2026-03-14T11:50:00Z')
  for (const minutes of [5, 20, 90, 300]) {
    const rest = await restStandIn(({ body }) => {
      const rows = answer(JSON.parse(body))
      return Array.isArray(rows) ? rows.slice(0, Math.floor(rows.length / 2)) : rows
    })
    const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const range = { fromMs: toMs - minutes * MINUTE, toMs }
    const walk = walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
    await assert.rejects(walk, /does not fit/, `${minutes} min`)
  }
})

test('candles: those that an answer leaves out between others are requested again once', async () => {
  const range = { fromMs: Date.parse('2026-03-14T11:00:00Z'), toMs: Date.parse('2026-03-14T11:50:00Z') }
  const lacking = [10, 30].map((minute) => range.fromMs + minute * MINUTE)
  const walk = async (isFaulty: boolean) => {
    let answers = 0
    const rest = await restStandIn(({ body }) => {
      const rows = answer(JSON.parse(body))
      if (!Array.isArray(rows)) return rows
      answers += 1
      return answers === 1 || !isFaulty ? rows.filter(({ t }) => !lacking.includes(t)) : rows
    })
    const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const walked = walkAll(venue, { topic: 'candles', symbol: 'BTC', interval: '1m', range })
    return { walked: await walked, answers }
  }
  await assert.rejects(walk(true), /does not fit/)
  const { walked, answers } = await walk(false)
  assert.deepEqual([walked.observations.length, walked.settledMs, answers], [48, range.toMs, 2])
})

test('funding: pages of five hundred, each hour once, the next hour named', async () => {
  const { venue } = await hyperliquid()
  const range = { fromMs: NOW - 1_200 * HOUR, toMs: NOW }
  const walked = await walkAll(venue, { topic: 'funding', symbol: 'ETH', range })
  const times = walked.observations.map((each) => (each.kind === 'funding' ? each.fundingTimeMs : 0))
  assert.equal(times.length, new Set(times).size)
  assert.ok(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) === HOUR))
  assert.equal(walked.pages, 3)
})

test('funding: answers for another time leave no rate out; before the listing there is none', async () => {
  const listedMs = NOW - 20 * HOUR
  const walk = async (offsetMs: number, range: { fromMs: number; toMs: number }) => {
    const rest = await restStandIn(({ body }) => {
      const { startTime = 0, endTime = 0, ...asked }: Body = JSON.parse(body)
      if (asked.type === 'exchangeStatus') return answer(asked)
      const moved = Math.max(listedMs, startTime + offsetMs)
      return answer({ ...asked, startTime: moved, endTime: Math.min(NOW, endTime + offsetMs) })
    })
    const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    return walkAll(venue, { topic: 'funding', symbol: 'ETH', range })
  }
  const toMs = NOW - MINUTE
  for (const minutes of [60, 120, 6_000])
    for (const backMs of [90 * MINUTE, 3 * HOUR])
      await assert.rejects(walk(minutes * MINUTE, { fromMs: NOW - backMs, toMs }), /does not fit/)
  const { observations, settledMs } = await walk(0, { fromMs: listedMs - 40 * HOUR, toMs })
  assert.deepEqual([observations.length, settledMs], [19, toMs])
})

test('funding: answers that end after half of their rates settle no hour that they lack', async () => {
  const toMs = NOW - 30 * MINUTE
  for (const hours of [2, 3, 6, 12, 20]) {
    const rest = await restStandIn(({ body }) => {
      const rows = answer(JSON.parse(body))
      return Array.isArray(rows) ? rows.slice(0, Math.floor(rows.length / 2)) : rows
    })
    const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const range = { fromMs: toMs - hours * HOUR, toMs }
    await assert.rejects(
      walkAll(venue, { topic: 'funding', symbol: 'ETH', range }),
      /does not fit/,
      `${hours} h`,
    )
  }
})

test('funding: up to half an hour after its settlement a rate may still come', async () => {
  const hourMs = Math.floor(NOW / HOUR) * HOUR
  for (const [afterMs, isSettled] of [
    [10 * MINUTE, false],
    [31 * MINUTE, true],
  ] as const) {
    const nowMs = hourMs + afterMs
    const rest = await restStandIn(({ body }) => {
      const asked: Body = JSON.parse(body)
      if (asked.type === 'exchangeStatus') return { time: nowMs }
      return answer({ ...asked, endTime: Math.min(asked.endTime ?? 0, hourMs - 1) })
    })
    const venue = createHyperliquid({ clock: manualClock(nowMs), hosts: { rest: rest.url } })
    const range = { fromMs: hourMs - 3 * HOUR, toMs: nowMs - MINUTE }
    const { observations, settledMs } = await walkAll(venue, { topic: 'funding', symbol: 'ETH', range })
    assert.deepEqual([observations.length, settledMs], [3, isSettled ? range.toMs : hourMs])
  }
})

test('past trades, books and open interest are not provided, and nobody is asked for them', async () => {
  const { venue, rest } = await hyperliquid()
  const range = { fromMs: NOW - HOUR, toMs: NOW }
  for (const topic of ['trades', 'book', 'open_interest'] as const) {
    assert.deepEqual((await walkAll(venue, { topic, symbol: 'BTC', range })).missing, [range])
  }
  assert.equal(rest.asked.length, 0)
})

test('witnesses and check', async () => {
  const { venue } = await hyperliquid()
  const signal = AbortSignal.timeout(60_000)
  assert.equal((await venue.witness({ topic: 'trades', symbol: 'BTC' }, { signal }))?.newestMs, NOW - 100)
  assert.equal((await venue.witness({ topic: 'book', symbol: 'BTC' }, { signal }))?.newestMs, NOW - 300)
  assert.equal((await venue.witness({ topic: 'open_interest', symbol: 'BTC' }, { signal }))?.newestMs, NOW)
  assert.match((await venue.check({ signal })).line, /BTC listed, ETH listed, SOL listed, XRP NOT LISTED$/)
})

test('a coin that the venue does not know is a final error', async () => {
  const rest = await restStandIn(({ body }) => (body.includes('exchangeStatus') ? { time: NOW } : null))
  const venue = createHyperliquid({ clock: manualClock(NOW), hosts: { rest: rest.url } })
  await assert.rejects(
    venue.witness({ topic: 'book', symbol: 'BTC' }, { signal: AbortSignal.timeout(60_000) }),
    { isFinal: true },
  )
})
