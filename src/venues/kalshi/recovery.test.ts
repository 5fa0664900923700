/** What the feed of a symbol does when the venue's stream goes wrong, frame by frame and second by second. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textLevels } from '../../../test/predictions/levels.ts'
import { isPlausibleTime } from '../live/plausible.ts'
import type { DataObservation } from '../observation.ts'
import type { HistoryRange } from '../venue.ts'
import { createContractFeed } from './feed.ts'

const A = 'KXBTC-26APR1817-B76125'
const B = 'KXBTC-26APR1817-B76375'
const C = 'KXBTC-26APR1817-B76625'
const START = Date.UTC(2026, 3, 18, 5)

interface Command {
  id: number
  cmd: string
  params: {
    channels?: string[]
    sids?: number[]
    market_tickers: string[]
    action?: string
    use_yes_price?: boolean
  }
}

/** A feed on an open socket, with its own clock; `receive` delivers a frame from the venue. */
function openFeed(
  tickers: readonly string[],
  options: { useYesPrice?: boolean; tradedRange?: (ticker: string) => HistoryRange | undefined } = {},
) {
  const sent: Command[] = []
  const cuts: string[] = []
  const emitted: DataObservation[] = []
  const dead: string[] = []
  const seqs = new Map<number, number>()
  let nowMs = START
  const take = (frame: string) => sent.push(JSON.parse(frame))
  const lostTrades: { fromMs: number; toMs: number }[] = []
  const lostFigures: string[] = []
  const actions = {
    send: take,
    lostFigures: (ticker: string) => lostFigures.push(ticker),
    cut: (reason: string) => cuts.push(reason),
    lostTrades: ({ fromMs, toMs }: (typeof lostTrades)[number]) =>
      lostTrades.push({ fromMs: fromMs - START, toMs: toMs - START }),
  }
  const feed = createContractFeed('BTC', actions, options)
  feed.follow(tickers, nowMs)
  let protocol = feed.openReader()
  feed.greeting(nowMs).forEach(take)

  function receive(frame: object): void {
    const outcome = protocol.read(JSON.stringify(frame), nowMs, isPlausibleTime)
    if (outcome.kind === 'data') emitted.push(...outcome.items.map(({ observation }) => observation))
    if (outcome.kind === 'refused') dead.push(outcome.reason)
    if (outcome.kind === 'data' && outcome.refused !== undefined) dead.push(outcome.refused)
  }
  function numbered(sid: number, frame: object, skip = 0): void {
    const seq = (seqs.get(sid) ?? 0) + 1 + skip
    seqs.set(sid, seq)
    receive({ ...frame, sid, seq })
  }
  const book = { yes_dollars_fp: [['0.4000', '10.00']], no_dollars_fp: [['0.5500', '7.00']] }
  const snapshot = (ticker: string, levels: object = book) =>
    numbered(1, { type: 'orderbook_snapshot', msg: { market_ticker: ticker, ...levels } })
  return {
    feed,
    /** Opens a new socket, whose numbers begin at 1. */
    reconnect(): void {
      emitted.push(...feed.disconnect(nowMs))
      seqs.clear()
      sent.length = 0
      protocol = feed.openReader()
      feed.greeting(nowMs).forEach(take)
    },
    sent,
    cuts,
    lostTrades,
    lostFigures,
    emitted,
    dead,
    receive,
    numbered,
    now: () => nowMs,
    snapshot,
    delta: (msg: object, skip = 0) =>
      numbered(
        1,
        {
          type: 'orderbook_delta',
          msg: {
            market_ticker: A,
            side: 'yes',
            price_dollars: '0.3000',
            delta_fp: '1.00',
            ts_ms: nowMs,
            ...msg,
          },
        },
        skip,
      ),
    ticker: (bid: string, ask: string) =>
      receive({
        type: 'ticker',
        sid: 2,
        msg: { market_ticker: A, yes_bid_dollars: bid, yes_ask_dollars: ask },
      }),
    /** Answers every command that is not answered yet, with an error where `error` returns one. */
    answer(error: (command: Command) => object | undefined = () => undefined): void {
      for (const command of sent.splice(0)) {
        const { id, cmd, params } = command
        const refusal = error(command)
        if (refusal !== undefined) receive({ type: 'error', id, msg: refusal })
        else if (cmd === 'subscribe') {
          const channel = params.channels?.[0] ?? ''
          const sid = ['orderbook_delta', 'ticker', 'trade'].indexOf(channel) + 1
          receive({ type: 'subscribed', id, msg: { channel, sid } })
          if (sid === 1) for (const ticker of params.market_tickers) snapshot(ticker)
        } else if (cmd === 'update_subscription' && params.action !== 'get_snapshot') {
          numbered(params.sids?.[0] ?? 0, { type: 'ok', id })
          if (params.action === 'add_markets' && params.sids?.[0] === 1)
            for (const ticker of params.market_tickers) snapshot(ticker)
        } else if (params.action === 'get_snapshot') {
          for (const ticker of params.market_tickers) snapshot(ticker)
        }
      }
    },
    /** Lets time pass second by second, as the session does. */
    pass(seconds: number): void {
      for (let second = 0; second < seconds; second++) {
        nowMs += 1_000
        feed.reportLostTrades(nowMs)
        emitted.push(...feed.tend(nowMs), ...feed.follow([...feed.followed], nowMs))
      }
    },
    live: () => [A, B, C].filter((ticker) => feed.bookOf(ticker).isLive),
    lost: () =>
      emitted.flatMap((each) => (each.kind === 'book_lost' ? [[each.instrument, each.reason]] : [])),
    snapshotsAsked: () => sent.filter(({ params }) => params.action === 'get_snapshot'),
  }
}

test('a delta of the wrong shape with the right number loses the book of its contract, which is asked for again', () => {
  const { feed, answer, delta, lost, dead, snapshotsAsked, live, emitted } = openFeed([A, B])
  answer()
  delta({ delta_fp: 'many' })
  assert.deepEqual(lost(), [[A, 'damaged']])
  assert.deepEqual([dead, feed.stats().gaps], [['wrong_shape'], 0])
  assert.deepEqual(
    snapshotsAsked().map(({ params }) => [params.sids, params.market_tickers]),
    [[[1], [A]]],
  )
  delta({ price_dollars: '0.3100' })
  assert.equal(
    emitted.filter(({ kind }) => kind === 'book_delta').length,
    0,
    'nothing is emitted of a damaged book',
  )
  answer()
  assert.deepEqual(live(), [A, B])
})

test('a book frame that does not even name its contract loses all books of its subscription', () => {
  const { answer, numbered, lost, snapshotsAsked } = openFeed([A, B])
  answer()
  numbered(1, { type: 'orderbook_delta', msg: 'nothing' })
  assert.deepEqual(lost(), [
    [A, 'damaged'],
    [B, 'damaged'],
  ])
  assert.deepEqual(snapshotsAsked()[0]?.params.market_tickers, [A, B])
})

test('a stream that nobody can read is not answered with a flood of questions', () => {
  const { answer, delta, sent, pass } = openFeed([A])
  answer()
  let asked = 0
  for (let second = 0; second < 10; second++) {
    for (let n = 0; n < 20; n++) {
      delta({ side: 'maybe' })
      asked += sent.length
      answer()
    }
    pass(1)
  }
  assert.ok(asked >= 4 && asked <= 7, `${asked} questions in ten seconds`)
})

test('a snapshot that is crossed is asked for again until it is not', () => {
  const { answer, sent, snapshot, lost, pass, live, snapshotsAsked } = openFeed([A])
  answer()
  const crossed = { yes_dollars_fp: [['0.5000', '1.00']], no_dollars_fp: [['0.6000', '1.00']] }
  snapshot(A, crossed)
  assert.deepEqual(lost(), [[A, 'crossed']])
  assert.equal(snapshotsAsked().length, 1)
  sent.splice(0)
  snapshot(A, crossed)
  pass(3)
  assert.equal(snapshotsAsked().length, 1, 'and once more')
  answer()
  assert.deepEqual(live(), [A])
})

test('snapshots that the venue refuses to send are requested every ten seconds; then the contract waits a minute', () => {
  const { answer, delta, pass, sent, cuts, live, snapshotsAsked } = openFeed([A, B])
  answer()
  delta({ delta_fp: '-5.00' })
  const refuse = (code: number) =>
    answer(({ params }) => (params.action === 'get_snapshot' ? { code } : undefined))
  refuse(27)
  pass(9)
  assert.equal(sent.length, 0)
  pass(1)
  assert.equal(snapshotsAsked().length, 1, 'asked again')
  refuse(18)
  pass(10)
  assert.equal(snapshotsAsked().length, 1, 'and again')
  refuse(17)
  pass(11)
  const removed = sent.filter(({ params }) => params.action === 'delete_markets')
  assert.deepEqual(
    removed.map(({ params }) => params.market_tickers),
    [[A], [A], [A]],
  )
  answer()
  assert.deepEqual([live(), cuts], [[B], []], 'the other book does not suffer')
  pass(61)
  answer()
  assert.deepEqual(live(), [A, B])
})

test('a subscription that the venue refuses is tried again, one that it ignores costs the socket', () => {
  const refused = openFeed([A])
  refused.answer(({ cmd }) => (cmd === 'subscribe' ? { code: 27 } : undefined))
  refused.pass(10)
  refused.answer()
  assert.deepEqual([refused.live(), refused.cuts], [[A], []])

  const ignoredByVenue = openFeed([A])
  ignoredByVenue.sent.splice(0)
  ignoredByVenue.pass(30)
  assert.deepEqual(ignoredByVenue.cuts, [])
  ignoredByVenue.pass(1)
  assert.ok(ignoredByVenue.cuts.length > 0)
})

test('time in which nothing is read is not counted as waiting', () => {
  const { feed, sent, pass, cuts } = openFeed([A])
  sent.splice(0)
  pass(20)
  feed.forgive(20_000)
  pass(20)
  assert.deepEqual(cuts, [])
})

test('an unknown contract is left out for a minute, without a cut, and the others are subscribed', () => {
  const { answer, cuts, live, pass, sent } = openFeed([A, B, C])
  const isUnknown = ({ params }: Command) =>
    params.market_tickers?.includes(B) ? { code: 16, market_ticker: B } : undefined
  for (let round = 0; round < 3; round++) answer(isUnknown)
  assert.deepEqual([live(), cuts], [[A, C], []])
  pass(50)
  assert.equal(sent.length, 0, 'it is not asked for before its time')
  pass(11)
  assert.deepEqual(
    sent.map(({ params }) => [params.action, params.market_tickers]),
    [1, 2, 3].map(() => ['add_markets', [B]]),
  )
  answer(isUnknown)
  pass(61)
  answer()
  assert.deepEqual([live(), cuts], [[A, B, C], []])
})

test('an unknown contract that the venue does not name is found by halves', () => {
  const { answer, live, cuts, pass } = openFeed([A, B, C])
  const isUnknown = ({ params }: Command) => (params.market_tickers?.includes(C) ? { code: 16 } : undefined)
  for (let round = 0; round < 8; round++) answer(isUnknown)
  assert.deepEqual([live(), cuts], [[A, B], []])
  pass(61)
  for (let round = 0; round < 3; round++) answer()
  assert.deepEqual(live(), [A, B, C])
})

test('a group that is left without contracts is closed and subscribed again', () => {
  const { answer, live, pass } = openFeed([A])
  for (let round = 0; round < 3; round++) answer(() => ({ code: 16, market_ticker: A }))
  assert.deepEqual(live(), [])
  pass(61)
  answer()
  assert.deepEqual(live(), [A])
})

test('a gap in the numbers of replies loses no book and does not count towards the cut', () => {
  const { feed, answer, numbered, delta, cuts, live, lost } = openFeed([A, B])
  answer()
  numbered(2, { type: 'ok', id: 77 }, 3)
  numbered(3, { type: 'ok', id: 78 }, 3)
  assert.deepEqual([live(), lost(), cuts], [[A, B], [], []])
  delta({}, 1)
  assert.deepEqual(cuts, [], 'the first gap of books is the first')
  assert.equal(lost().length, 2)
  answer()
  delta({}, 1)
  assert.deepEqual([cuts.length, feed.stats().gaps], [1, 4])
})

test('a number that trades skip is a trade that is missing since the one before; one that comes late is taken', () => {
  const { answer, numbered, receive, pass, lostTrades, emitted, lost, cuts, now } = openFeed([A, B])
  const trade = (id: string) => ({
    type: 'trade',
    msg: {
      ...{ trade_id: id, market_ticker: A, yes_price_dollars: '0.4000', no_price_dollars: '0.6000' },
      ...{ count_fp: '3.00', taker_side: 'yes', ts_ms: now() },
    },
  })
  answer()
  pass(10)
  numbered(3, trade('one'))
  assert.deepEqual(lostTrades, [])
  pass(20)
  numbered(3, trade('three'), 1)
  const expected = { fromMs: 5_000, toMs: 30_001 }
  assert.deepEqual(lostTrades, [expected], 'and some seconds before it, since contracts overtake each other')
  receive({ ...trade('two'), sid: 3, seq: 2 })
  // A venue that does not number its trades, and replies that count frames without numbers.
  receive({ ...trade('four'), sid: 3 })
  numbered(2, { type: 'ok', id: 900 }, 200_000)
  assert.deepEqual(
    emitted.flatMap((each) => (each.kind === 'trade' ? [each.id] : [])),
    ['one', 'three', 'two', 'four'],
  )
  assert.deepEqual([lostTrades.length, lost(), cuts], [1, [], []])
})

test('numbers of trades that skip again and again cost the socket; those of the next one are not believed then', () => {
  const { answer, numbered, pass, reconnect, lostTrades, emitted, cuts, now } = openFeed([A])
  let id = 0
  const trade = (skipped = 0) => {
    pass(60)
    id += 1
    const msg = {
      ...{ trade_id: `t${id}`, market_ticker: A, yes_price_dollars: '0.4000' },
      ...{ no_price_dollars: '0.6000', count_fp: '3.00', taker_side: 'yes', ts_ms: now() },
    }
    numbered(3, { type: 'trade', msg }, skipped)
  }
  answer()
  trade()
  for (let count = 0; count < 3; count++) trade(1)
  const cut = 'three sequence gaps of trades within ten minutes'
  assert.deepEqual([lostTrades.length, cuts], [3, [cut]])
  for (let count = 0; count < 2; count++) trade(1)
  assert.deepEqual([lostTrades.length, cuts], [5, [cut]], 'what the old socket still sends is believed')
  reconnect()
  answer()
  trade()
  for (let count = 0; count < 6; count++) trade(1)
  trade(200_000)
  assert.deepEqual([lostTrades.length, cuts], [8, [cut]])
  assert.equal(emitted.filter(({ kind }) => kind === 'trade').length, 14)
})

test('a socket that loses trades long after another one did is replaced, too, and losses after it are found', () => {
  const { answer, numbered, pass, reconnect, lostTrades, cuts, now } = openFeed([A])
  const trade = (skipped = 0) => {
    pass(60)
    const msg = {
      ...{ trade_id: `t${now()}`, market_ticker: A, yes_price_dollars: '0.4000' },
      ...{ no_price_dollars: '0.6000', count_fp: '3.00', taker_side: 'yes', ts_ms: now() },
    }
    numbered(3, { type: 'trade', msg }, skipped)
  }
  answer()
  for (const found of [3, 6]) {
    trade()
    for (let count = 0; count < 3; count++) trade(1)
    assert.deepEqual([lostTrades.length, cuts.length], [found, found / 3])
    reconnect()
    answer()
    for (let minute = 0; minute < 20; minute++) trade()
  }
  trade(1)
  assert.equal(lostTrades.length, 7)
})

test('a top that lastingly contradicts the figures loses the book; a race does not', () => {
  const { feed, answer, ticker, delta, pass, lost, dead, emitted, now } = openFeed([A])
  answer()
  ticker('0.4000', '0.4500')
  for (let n = 0; n < 50; n++) {
    // The figures are always one change ahead of the book.
    const isUp = n % 2 === 0
    ticker(isUp ? '0.4100' : '0.4000', '0.4500')
    pass(1)
    delta({ price_dollars: '0.4100', delta_fp: isUp ? '5.00' : '-5.00' })
  }
  assert.deepEqual([lost(), feed.stats().contradictions], [[], 0])
  ticker('0.4000', '0.4500')
  const agreedMs = now()
  for (let n = 0; n < 40; n++) {
    pass(1)
    ticker('0.3900', '0.4500')
    if (lost().length > 0) break
    delta({})
  }
  assert.deepEqual(lost(), [[A, 'top_mismatch']])
  assert.deepEqual([dead, feed.stats().contradictions], [['contradiction'], 1])
  const last = emitted.findLast((each) => each.kind === 'book_lost')
  assert.equal(last?.sinceMs, agreedMs, 'it was right for as long as both agreed')
})

test('no bids sent as yes prices: a setting reads them, and without it they are not taken for a book', () => {
  const asYes = {
    yes_dollars_fp: [['0.4000', '10.00']],
    no_dollars_fp: [
      ['0.4500', '7.00'],
      ['0.9000', '1.00'],
    ],
  }
  const right = openFeed([A], { useYesPrice: true })
  assert.equal(right.sent[0]?.params.use_yes_price, true)
  right.answer()
  right.snapshot(A, asYes)
  const book = right.emitted.findLast((each) => each.kind === 'book_snapshot')
  assert.deepEqual(
    [textLevels(book?.bids), textLevels(book?.asks)],
    [
      [['0.4', '10']],
      [
        ['0.45', '7'],
        ['0.9', '1'],
      ],
    ],
  )
  right.delta({ side: 'no', price_dollars: '0.4500', delta_fp: '-7.00' })
  assert.deepEqual(textLevels(right.emitted.findLast((each) => each.kind === 'book_delta')?.asks), [
    ['0.45', '0'],
  ])

  const wrong = openFeed([A])
  wrong.answer()
  wrong.snapshot(A, asYes)
  assert.deepEqual(wrong.lost(), [[A, 'crossed']])
})

test('a change that comes seconds late proves that the book was wrong since then', () => {
  const { answer, delta, pass, lost, emitted, live, now } = openFeed([A])
  answer()
  delta({})
  pass(25)
  const changedMs = now() - 20_000
  delta({ ts_ms: changedMs })
  assert.deepEqual(lost(), [[A, 'frozen']])
  const last = emitted.findLast((each) => each.kind === 'book_lost')
  assert.equal(last?.sinceMs, changedMs)
  answer()
  delta({})
  assert.deepEqual([live(), lost().length], [[A], 1])
})

test('a change that says it is a day late costs its book from now on, not a day of it', () => {
  const { answer, delta, pass, lost, dead, emitted, live, now } = openFeed([A])
  answer()
  pass(5)
  delta({})
  const provenMs = now()
  pass(5)
  delta({ ts_ms: now() - 86_400_000 })
  assert.deepEqual([lost(), dead], [[[A, 'damaged']], ['implausible']])
  assert.equal(emitted.findLast((each) => each.kind === 'book_lost')?.sinceMs, provenMs)
  answer()
  assert.deepEqual(live(), [A])
})

test('a book of another contract that comes while no changes do proves nothing', () => {
  const { answer, delta, pass, snapshot, feed, now } = openFeed([A, B])
  answer()
  pass(5)
  delta({})
  const provenMs = now()
  pass(10)
  snapshot(B)
  pass(5)
  const lost = feed.disconnect(now()).flatMap((each) => (each.kind === 'book_lost' ? [each] : []))
  assert.deepEqual(
    lost.map(({ instrument, sinceMs }) => [instrument, sinceMs]),
    [
      [A, provenMs],
      [B, provenMs + 10_000],
    ],
  )
})

test('a clock that differs from that of the venue is no delay', () => {
  const { answer, delta, pass, lost, now } = openFeed([A])
  answer()
  for (let n = 0; n < 90; n++) {
    delta({ ts_ms: now() - 45_000 })
    pass(1)
  }
  assert.deepEqual(lost(), [])
})

test('where a number of one sid is missing, changes of another prove nothing', () => {
  const others = Array.from({ length: 199 }, (_, n) => `KXBTC-26APR1817-B${80_000 + n}`)
  const { receive, sent, snapshot, numbered, delta, pass, emitted, now } = openFeed([A, ...others, B])
  const ofBooks = sent.filter(({ params }) => params.channels?.[0] === 'orderbook_delta')
  assert.deepEqual(
    ofBooks.map(({ params }) => params.market_tickers.length),
    [200, 1],
  )
  for (const [place, { id }] of ofBooks.entries())
    receive({ type: 'subscribed', id, msg: { channel: 'orderbook_delta', sid: 1 + 10 * place } })
  for (const ticker of [A, ...others]) snapshot(ticker)
  const levels = { yes_dollars_fp: [['0.4000', '10.00']], no_dollars_fp: [['0.5500', '7.00']] }
  numbered(11, { type: 'orderbook_snapshot', msg: { market_ticker: B, ...levels } })
  delta({})
  const provenMs = now()
  pass(8)
  const change = { market_ticker: B, side: 'yes', price_dollars: '0.3000', delta_fp: '1.00', ts_ms: now() }
  numbered(11, { type: 'orderbook_delta', msg: change })
  delta({}, 1)
  const lost = emitted.flatMap((each) => (each.kind === 'book_lost' ? [each] : []))
  assert.equal(lost.length, 200)
  assert.ok(lost.every(({ reason, sinceMs }) => reason === 'sequence_gap' && sinceMs === provenMs))
})

test('a contract whose trades cannot be added to the subscription costs the socket, not its trades', () => {
  const { feed, answer, pass, cuts, now } = openFeed([A])
  answer()
  feed.follow([A, B], now())
  const refuse = ({ params }: Command) =>
    params.action === 'add_markets' && params.sids?.[0] === 3 ? { code: 27, msg: 'overloaded' } : undefined
  for (let second = 0; second < 120 && cuts.length === 0; second++) {
    answer(refuse)
    pass(1)
  }
  assert.deepEqual(cuts, ['a subscription stays unanswered'])
})

const refuseTrades = ({ params }: Command) =>
  params.channels?.[0] === 'trade' ? { code: 17, msg: 'internal' } : undefined

/** The whole time that was reported; fails if it has holes. */
function lostTime(ranges: readonly { fromMs: number; toMs: number }[]) {
  for (const [place, { fromMs }] of ranges.entries())
    assert.ok(place === 0 || fromMs <= (ranges[place - 1]?.toMs ?? 0), JSON.stringify(ranges))
  return ranges.length === 0 ? undefined : { fromMs: ranges[0]?.fromMs, toMs: ranges.at(-1)?.toMs }
}

test('while the subscription of trades is refused or unanswered, trades are lost', () => {
  for (const refuse of [refuseTrades, ({ params }: Command) => params.channels?.[0] === 'trade']) {
    const { answer, pass, sent, lostTrades } = openFeed([A, B])
    const kept = sent.filter((command) => refuse(command) === true)
    for (const command of kept) sent.splice(sent.indexOf(command), 1)
    answer((command) => refuseTrades(command))
    pass(11)
    // Beyond the present, because the next report comes a second later.
    assert.deepEqual(lostTime(lostTrades), { fromMs: 0, toMs: 13_000 })
    sent.push(...kept)
    answer()
    pass(30)
    assert.deepEqual(lostTime(lostTrades), { fromMs: 0, toMs: 13_000 }, 'no longer than that')
  }
})

test('trades of a contract that is added are lost until the venue confirms them', () => {
  const { feed, sent, answer, numbered, pass, lostTrades, now } = openFeed([A])
  answer()
  feed.follow([A, B], now())
  const id = sent.find(({ params }) => params.sids?.[0] === 3)?.id
  pass(1)
  numbered(3, { type: 'ok', id, msg: { market_tickers: [A] } })
  pass(1)
  assert.deepEqual(lostTime(lostTrades), { fromMs: 0, toMs: 4_000 }, 'the reply lacks the contract')
  numbered(3, { type: 'ok', id, msg: { market_tickers: [A, B] } })
  pass(20)
  assert.deepEqual(lostTime(lostTrades), { fromMs: 0, toMs: 4_000 })
})

test('only while a contract is traded can its trades be lost', () => {
  const tradedRange = () => ({ fromMs: START + 5_000, toMs: START + 8_000 })
  const { answer, pass, lostTrades } = openFeed([A], { tradedRange })
  answer(refuseTrades)
  pass(20)
  assert.deepEqual(lostTime(lostTrades), { fromMs: 5_000, toMs: 8_000 })
})

test('a contract that is set aside loses its trades and figures until it is subscribed again', () => {
  const { answer, pass, lostTrades, lostFigures } = openFeed([A, B])
  answer(({ params }) =>
    params.channels?.[0] === 'orderbook_delta' ? { code: 16, msg: 'unknown', market_ticker: B } : undefined,
  )
  answer()
  assert.deepEqual([lostFigures, lostTrades], [[B], []])
  for (let second = 0; second < 70; second++) {
    pass(1)
    answer()
  }
  const lost = lostTime(lostTrades)
  assert.equal(lost?.fromMs, 0)
  assert.ok(lost.toMs !== undefined && lost.toMs > 60_000 && lost.toMs < 65_000, JSON.stringify(lost))
})

test('a subscription that the venue ends, or reports an error of, costs the socket', () => {
  const ended = { type: 'unsubscribed' }
  const failed = { type: 'error', msg: { code: 17, msg: 'internal' } }
  for (const frame of [ended, failed])
    for (const sid of [1, 2, 3]) {
      const { answer, numbered, cuts } = openFeed([A])
      answer()
      numbered(sid, frame)
      assert.equal(cuts.length, 1, `${frame.type} of ${sid}`)
    }
  const { answer, receive, cuts } = openFeed([A])
  answer()
  receive({ type: 'error', msg: { code: 10, msg: 'channel error' } })
  assert.equal(cuts.length, 1, 'an error of a channel')
})

/** The top of the book that `openFeed` sends, and another one. */
const TOP = { bid: 400_000, ask: 450_000 }
const OTHER_TOP = { bid: 900_000, ask: 920_000 }
const OTHER_BOOK = { yes_dollars_fp: [['0.9000', '10.00']], no_dollars_fp: [['0.0800', '7.00']] }

/** An open feed of two contracts; every list is half a minute later than the one before. */
function openListed() {
  const opened = openFeed([A, B])
  const { feed, answer, pass, emitted, now } = opened
  answer()
  opened.sent.length = 0
  const list = (top: typeof TOP, volume: number | null = null) => {
    pass(30)
    const { lost, areNewer } = feed.listed(A, { top, volume }, now())
    emitted.push(...lost)
    return areNewer
  }
  const lostSince = () =>
    emitted.flatMap((each) => (each.kind === 'book_lost' ? [[each.reason, each.sinceMs - START]] : []))
  return { ...opened, list, lostSince }
}

test('a book whose contract has stopped on the socket is lost since the last list that agreed with it', () => {
  const { list, snapshot, lostSince, lostTrades, snapshotsAsked, live } = openListed()
  list(TOP)
  list(OTHER_TOP)
  assert.deepEqual([lostSince(), snapshotsAsked().length], [[], 0], 'the list may be older')
  list(OTHER_TOP)
  assert.deepEqual([lostSince(), snapshotsAsked().length], [[], 1])
  snapshot(A, OTHER_BOOK)
  assert.deepEqual(lostSince(), [['frozen', 30_000]])
  assert.deepEqual(lostTrades, [{ fromMs: 30_000, toMs: 90_000 }])
  assert.deepEqual(live(), [A, B])
})

test('the same if the book does not arrive by the next list', () => {
  const { list, lostSince, live } = openListed()
  for (const top of [TOP, OTHER_TOP, OTHER_TOP, OTHER_TOP]) list(top)
  assert.deepEqual(lostSince(), [['frozen', 30_000]])
  assert.deepEqual(live(), [B])
})

test('a list that differs from a book that changes, or that the venue sends again, is older than the book', () => {
  const changing = openListed()
  for (let n = 0; n < 6; n++) {
    changing.list(OTHER_TOP)
    changing.delta({})
  }
  assert.deepEqual([changing.lostSince(), changing.snapshotsAsked()], [[], []])
  const { list, answer, lostSince, live } = openListed()
  for (let n = 0; n < 6; n++) {
    list(OTHER_TOP)
    answer()
  }
  assert.deepEqual([lostSince(), live()], [[], [A, B]])
  // No list is older than five minutes.
  for (let n = 0; n < 6; n++) list(OTHER_TOP)
  assert.deepEqual(lostSince(), [['frozen', 330_000]])
})

test('where the streamed volume stays below that of the list before, figures were missed', () => {
  const { list, receive, lostFigures } = openListed()
  const streamed = (volume: string) =>
    receive({ type: 'ticker', sid: 2, msg: { market_ticker: A, volume_fp: volume } })
  streamed('10.00')
  assert.equal(list(TOP, 12), false, 'its frame may still arrive')
  streamed('12.00')
  assert.equal(list(TOP, 14), false)
  assert.deepEqual(lostFigures, [])
  assert.equal(list(TOP, 15), true)
  assert.deepEqual(lostFigures, [A])
})
