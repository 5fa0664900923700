/** Commands on recorded market data. They work while the service records on the same data folder. */
import { DATASETS } from '../core/feed.ts'
import { SYMBOLS } from '../core/symbol.ts'
import { DAY_MS, formatTime } from '../core/time.ts'
import type { FeedFilter } from '../store/series.ts'
import { type CliCommand, CommandError, needed, UsageError } from './command.ts'
import { parseEnvironmentOption, parseSourceOption, parseTimeOption, symbolOf } from './options.ts'
import { progressBar } from './progress-bar.ts'

const environment = { about: 'test or live; left out: test, or live where test is switched off.' }
const RECENT_MS = 15_000
/** The index of the chain, in addition to the market datasets. */
const CHAIN = 'chain'

const backfill: CliCommand = {
  name: 'backfill',
  about: "Fills gaps from a venue's own history; may be stopped and run again.",
  options: {
    source: { about: 'Source whose past is filled.', required: true },
    symbol: { about: 'Symbol; left out: all.' },
    from: { about: 'Start; whole days are asked for.', required: true },
    to: { about: 'End; left out: the start of today, which the running service looks after.' },
    environment,
  },
  async run({ values, output, clock, market, usualEnvironment }) {
    const source = parseSourceOption({ ...values, source: needed(values, 'source') })
    const fromMs = parseTimeOption({ ...values, from: needed(values, 'from') }, 'from')
    if (source === undefined || fromMs === undefined) throw new UsageError('--source and --from are needed.')
    const toMs = parseTimeOption(values, 'to') ?? clock.now()
    if (toMs <= fromMs) throw new UsageError('--to must lie after --from.')
    const symbol = symbolOf(values)
    const bar = progressBar()
    const summary = await (await market()).backfill({
      environment: parseEnvironmentOption(values) ?? usualEnvironment,
      source,
      symbols: symbol === undefined ? SYMBOLS : [symbol],
      fromMs,
      toMs,
      onProgress: ({ done, total, step }) => bar.show(done, total, step),
    })
    bar.end()
    output.print(summary)
    if (summary.failed > 0)
      throw new CommandError(
        `${summary.failed} of ${summary.ranges} ranges could not be filled: the same command tries them again.`,
      )
  },
}

const gaps: CliCommand = {
  name: 'gaps',
  about: 'Lists the gaps of what is recorded and of the chain index, with their reasons.',
  options: {
    source: { about: 'Only this source.' },
    symbol: { about: 'Only this symbol.' },
    dataset: { about: `Only this dataset: ${[...DATASETS, CHAIN].join(', ')}.` },
    from: { about: 'Start; left out: a day ago.' },
    to: { about: 'End; left out: now.' },
    environment,
  },
  async run({ values, output, clock, market, usualEnvironment }) {
    const asked = parseEnvironmentOption(values) ?? usualEnvironment
    const toMs = parseTimeOption(values, 'to') ?? clock.now() - RECENT_MS
    const fromMs = parseTimeOption(values, 'from') ?? toMs - DAY_MS
    const rows: Record<string, string>[] = []
    const isChainWanted = (values.dataset ?? CHAIN) === CHAIN && !values.source && !values.symbol
    if (isChainWanted) {
      for (const gap of await (await market()).chainGaps(asked)) {
        const { fromTimeMs, toTimeMs, reason } = gap
        if (toTimeMs < fromMs || fromTimeMs > toMs) continue
        const [from, to] = [formatTime(fromTimeMs), formatTime(toTimeMs)]
        rows.push({ dataset: CHAIN, source: '', symbol: '', interval: '', from, to, reason })
      }
    }
    if (values.dataset === CHAIN) {
      output.print(rows)
      return
    }
    const store = await (await market()).store(asked)
    for (const { feed } of await store.series.feeds(filterOf(values))) {
      // Stored for the counts of coarser buckets, but not served.
      if (feed.dataset === 'flow' && feed.interval === '1m') continue
      for (const gap of (await store.coverage.read([feed], fromMs, toMs)).gaps) {
        rows.push({
          dataset: feed.dataset,
          source: feed.source,
          symbol: feed.symbol,
          interval: feed.interval,
          from: formatTime(gap.from),
          to: formatTime(gap.to),
          reason: gap.reason,
        })
      }
    }
    output.print(rows)
  },
}

const revisions: CliCommand = {
  name: 'revisions',
  about: 'Shows the old versions of rows that were corrected.',
  options: {
    dataset: { about: `One of ${DATASETS.join(', ')}; left out: all.` },
    source: { about: 'Only this source.' },
    symbol: { about: 'Only this symbol.' },
    from: { about: 'Start; left out: a day ago.' },
    to: { about: 'End; left out: now.' },
    limit: { about: 'Most versions that are shown.', fallback: '100' },
    environment,
  },
  async run({ values, output, clock, market, usualEnvironment }) {
    const store = await (await market()).store(parseEnvironmentOption(values) ?? usualEnvironment)
    const to = parseTimeOption(values, 'to') ?? clock.now()
    const from = parseTimeOption(values, 'from') ?? to - DAY_MS
    const limit = Number(values.limit)
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new UsageError('--limit must be a whole number above 0.')
    const feeds = (await store.series.feeds(filterOf(values))).map(({ feed }) => feed)
    const found = await store.series.revisions({ feeds, range: { from, to }, limit })
    output.print(
      found.map((old) => ({
        time: formatTime(old.position.ts),
        source: old.position.source,
        revision: old.revision,
        recorded_at: formatTime(old.recordedAt),
        superseded_at: formatTime(old.supersededAt),
        row: old.text,
      })),
    )
  },
}

const venuesCheck: CliCommand = {
  name: 'venues check',
  about: 'Shows for each venue whether it can be reached and what it answered.',
  options: {
    environment: { about: 'live asks the real venues, test the simulated ones.', fallback: 'live' },
  },
  async run({ values, output, market }) {
    const found = await (await market()).checkVenues(parseEnvironmentOption(values) ?? 'live')
    output.print(found, ['ok', 'line'])
    const silent = found.filter(({ ok }) => !ok)
    if (silent.length > 0)
      throw new CommandError(`${silent.length} of ${found.length} venues gave no useful answer.`)
  },
}

function filterOf(values: Record<string, string | undefined>): FeedFilter {
  const dataset = DATASETS.find((known) => known === values.dataset)
  if (values.dataset !== undefined && dataset === undefined)
    throw new UsageError(`--dataset must be one of ${DATASETS.join(', ')}.`)
  const source = parseSourceOption(values)
  const symbol = symbolOf(values)
  return {
    ...(dataset === undefined ? {} : { dataset }),
    ...(source === undefined ? {} : { source }),
    ...(symbol === undefined ? {} : { symbol }),
  }
}

export const MARKET_COMMANDS: readonly CliCommand[] = [backfill, gaps, revisions, venuesCheck]
